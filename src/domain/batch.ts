/** The public types of a batch: many payouts at once, each independent of the others. */
import { OUTCOMES, type PayoutPhase, PHASES, type StateText } from './payout.ts';

/** The maximum number of rows in one `add`, and in one part. */
export const MAX_ROWS_PER_ADD = 500;
export const MAX_ROWS_PER_BATCH = 50_000;

/** Characters of a row's fingerprint: 72 bits, enough that two ids of a batch never collide. */
export const ROW_KEY_LENGTH = 12;

/**
 * The outcomes of a row: the outcome of its payout, or
 * `conflict`: its `partnerOrderId` belongs to a payout with another body;
 * `invalid`: the payout failed as bad input;
 * `stopped`: the payout's workflow no longer exists or is no longer tracked, so a person should look at it;
 * `notStarted`: the batch was canceled before the row was started.
 */
export const ROW_OUTCOMES = [...OUTCOMES, 'conflict', 'invalid', 'stopped', 'notStarted'] as const;
export type RowOutcome = (typeof ROW_OUTCOMES)[number];

/** Outcomes whose rows are listed one by one, because a person should look at each. */
export const LISTED_OUTCOMES = ['conflict', 'invalid', 'stopped'] as const;
type ListedOutcome = (typeof LISTED_OUTCOMES)[number];

/** The argument of the batch workflow. Its rows follow by `add`. */
export interface BatchRequest {
  app: string;
  batchId: string;
  /** The number of rows. No payout starts before all of them have been added. */
  count: number;
}

/** `count` rows, starting at row `offset`. The first row is row 0. */
export interface RowRange {
  offset: number;
  count: number;
}

/** Counts of rows by outcome. */
export interface BatchTally {
  /** Rows whose payout this batch started, and rows that joined an existing payout with the same body. */
  started: number;
  joined: number;
  /** Payouts that have not ended, by the last phase in which they were seen waiting. */
  phases: Partial<Record<PayoutPhase, number>>;
  /** The open payouts that wait for a person. */
  needingAttention: number;
  outcomes: Record<RowOutcome, number>;
  rows: Record<ListedOutcome, number[]>;
}

export interface BatchResult extends BatchTally {
  app: string;
  batchId: string;
  count: number;
  /** Rows that have ended, and how many of them have no payout of their own. */
  done: number;
  rejected: number;
}

/** The result of the query `state` and of the update `add`. */
export interface BatchState extends BatchResult, StateText {
  phase: 'RECEIVING' | 'PAYING' | 'DONE';
  canceled: boolean;
  added: number;
  /** Rows that must be added, or added again. */
  missing: RowRange[];
}

/** Rows that have been added, with a digest to compare them when they are added again. */
export interface AddedRows extends RowRange {
  digest: string;
}

export function emptyTally(): BatchTally {
  return {
    started: 0,
    joined: 0,
    phases: {},
    needingAttention: 0,
    outcomes: {
      SUCCESS: 0,
      PARTIAL_SUCCESS: 0,
      FAILED: 0,
      NOT_CREATED: 0,
      conflict: 0,
      invalid: 0,
      stopped: 0,
      notStarted: 0,
    },
    rows: { conflict: [], invalid: [], stopped: [] },
  };
}

export function sumTallies(tallies: readonly BatchTally[]): BatchTally {
  const sum = emptyTally();
  for (const one of tallies) {
    sum.started += one.started;
    sum.joined += one.joined;
    sum.needingAttention += one.needingAttention;
    for (const phase of PHASES) {
      const count = (sum.phases[phase] ?? 0) + (one.phases[phase] ?? 0);
      if (count > 0) sum.phases[phase] = count;
    }
    for (const end of ROW_OUTCOMES) sum.outcomes[end] += one.outcomes[end];
    for (const end of LISTED_OUTCOMES) sum.rows[end].push(...one.rows[end]);
  }
  return sum;
}

export function countEndedRows({ outcomes }: BatchTally): number {
  return ROW_OUTCOMES.reduce((sum, end) => sum + outcomes[end], 0);
}

export function countRejectedRows({ outcomes }: BatchTally): number {
  return outcomes.conflict + outcomes.invalid;
}
