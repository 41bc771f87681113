/** The public words of a batch: many payouts at once, each of them independent of the others. */
import { OUTCOMES, type PayoutPhase, PHASES } from './payout.ts';

/** How many rows one `add` may bring, and one part holds. */
export const MAX_ROWS_PER_ADD = 500;
export const MAX_ROWS_PER_BATCH = 50_000;

/** Of the fingerprint of a row's number: short, and still never the same for two numbers of a batch (72 bits). */
export const ROW_KEY_LENGTH = 12;

/**
 * How a row can end: as its payout did, or
 * `conflict`: its number belongs to a payout with another body;
 * `invalid`: the payout was refused as bad input;
 * `stopped`: nothing is left of the payout's workflow, or nobody watches it any more, so look at it;
 * `notStarted`: the batch was cancelled first.
 */
export const ROW_OUTCOMES = [...OUTCOMES, 'conflict', 'invalid', 'stopped', 'notStarted'] as const;
export type RowOutcome = (typeof ROW_OUTCOMES)[number];

/** Ends that somebody should look at row by row. */
export const LISTED_OUTCOMES = ['conflict', 'invalid', 'stopped'] as const;
export type ListedOutcome = (typeof LISTED_OUTCOMES)[number];

/** What a batch is started with; its rows follow by `add`. */
export interface BatchRequest {
  app: string;
  batchId: string;
  /** How many rows will be added. Nothing is paid before the last one is in. */
  count: number;
}

/** `count` rows from row `offset` on; rows are counted from 0. */
export interface RowRange {
  offset: number;
  count: number;
}

/** What has become of some rows. */
export interface BatchTally {
  /** Rows whose payout this batch started, and rows whose payout was there with the same body. */
  started: number;
  joined: number;
  /** Payouts that have not ended, by the phase they were last seen to rest in. */
  phases: Partial<Record<PayoutPhase, number>>;
  /** Of those, the ones that wait for a person. */
  needingAttention: number;
  outcomes: Record<RowOutcome, number>;
  rows: Record<ListedOutcome, number[]>;
}

export interface BatchResult extends BatchTally {
  app: string;
  batchId: string;
  count: number;
  /** Rows that have ended, and those of them that have no payout of their own. */
  done: number;
  bad: number;
}

/** What the query `state` and the update `add` answer. */
export interface BatchState extends BatchResult {
  phase: 'RECEIVING' | 'PAYING' | 'DONE';
  sentence: string;
  nextStep: string;
  cancelled: boolean;
  added: number;
  /** Rows that still have to be added, or have to be added again. */
  missing: RowRange[];
}

/** Rows that the batch has taken: whoever adds them again can compare. */
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

export function countBadRows({ outcomes }: BatchTally): number {
  return outcomes.conflict + outcomes.invalid;
}
