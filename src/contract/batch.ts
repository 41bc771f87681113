/** A batch: many payouts at once, each independent of the others. Every row is validated before any payout is started. */

import { createHash } from 'node:crypto';
import { z } from 'zod';
import {
  LISTED_OUTCOMES,
  type ListedOutcome,
  MAX_ROWS_PER_BATCH,
  type PayoutPhase,
  PHASES,
  ROW_KEY_LENGTH,
  ROW_OUTCOMES,
  type RowOutcome,
} from './codes.ts';
import { type FieldError, rowName } from './failures.ts';
import { appName, type CheckResult, checkBody } from './fields.ts';
import { notDots } from './ids.ts';
import type { StateText } from './payout.ts';
import { type CheckedPayoutRequest, payoutRequestSchema } from './payout-request.ts';

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

const count = z.int().min(0);

/** As callers get it. */
export const batchStateSchema = z.object({
  app: z.string(),
  batchId: z.string(),
  count,
  phase: z.enum(['RECEIVING', 'PAYING', 'DONE']),
  sentence: z.string(),
  nextStep: z.string(),
  canceled: z.boolean(),
  added: count,
  started: count,
  joined: count,
  done: count,
  rejected: count,
  needingAttention: count,
  missing: z.array(z.object({ offset: count, count })),
  phases: z.partialRecord(z.enum(PHASES), count),
  outcomes: z.record(z.enum(ROW_OUTCOMES), count),
  rows: z.record(z.enum(LISTED_OUTCOMES), z.array(count)),
});

/** Rows that have been added, with a digest to compare them when they are added again. */
export interface AddedRows extends RowRange {
  digest: string;
}

/** The report of a part to its batch. */
export interface PartReport extends BatchTally {
  offset: number;
  /** Identifies the rows. The batch ignores reports from a part of an older batch with other rows. */
  digest: string;
  /** Every row has been started and few payouts are busy, so the next part may begin. */
  allStarted: boolean;
  ended: boolean;
}

export const batchId = z
  .string()
  .regex(
    notDots(/^[\w.-]{1,64}$/),
    'must be 1 to 64 letters, digits, dots, hyphens and underscores, and not "." or ".."',
  );

export const batchRequestSchema = z.strictObject({
  app: appName,
  batchId,
  count: z
    .int()
    .min(1, 'must be at least 1')
    .max(MAX_ROWS_PER_BATCH, `must be at most ${MAX_ROWS_PER_BATCH}`),
});

/** More than a row has fields. It keeps one bad row from filling the whole answer. */
const MAX_ERRORS_PER_ROW = 25;

/**
 * Validates rows of a batch of `app`; a row may omit `app`. The path of a bad field starts with the index of its row,
 * counted from `offset`: `17.receiver.bankName`.
 */
export function checkRows(
  app: string,
  rows: readonly unknown[],
  offset = 0,
): CheckResult<CheckedPayoutRequest[]> {
  const check = new RowCheck(app, offset);
  for (const row of rows) check.add(row);
  return check.errors.length === 0 ? { ok: true, value: check.rows } : { ok: false, errors: check.errors };
}

/**
 * Validates rows one by one, as `checkRows` does, so that a reader of many rows can stop early. `lines`: where the rows
 * begin in their file, filled while it is read.
 */
export class RowCheck {
  /** The valid rows. */
  readonly rows: CheckedPayoutRequest[] = [];
  readonly errors: FieldError[] = [];
  private readonly app: string;
  private readonly rowOf = new Map<string, number>();
  private readonly lines: readonly number[];
  private next: number;

  constructor(app: string, offset = 0, lines: readonly number[] = []) {
    this.app = app;
    this.next = offset;
    this.lines = lines;
  }

  add(row: unknown): void {
    const at = this.next;
    this.next += 1;
    const checked = this.checkRow(row);
    if (checked.ok) {
      this.rows.push(checked.value);
      this.rowOf.set(checked.value.partnerOrderId, at);
      return;
    }
    const listed = checked.errors.slice(0, MAX_ERRORS_PER_ROW);
    const line = this.lines[at];
    this.errors.push(
      ...listed.map(({ path, message }) => ({
        ...{ path: path === '' ? String(at) : `${at}.${path}`, message },
        ...(line !== undefined && { line }),
      })),
    );
  }

  private checkRow(row: unknown): CheckResult<CheckedPayoutRequest> {
    const { app } = this;
    const checked = checkBody(payoutRequestSchema, withDefaultApp(app, row));
    if (!checked.ok) return checked;
    if (checked.value.app !== app)
      return {
        ok: false,
        errors: [{ path: 'app', message: `must be ${app}, the application of the batch` }],
      };
    const earlier = this.rowOf.get(checked.value.partnerOrderId);
    if (earlier === undefined) return checked;
    const message = `is the same as in ${rowName(earlier, this.lines)}`;
    return { ok: false, errors: [{ path: 'partnerOrderId', message }] };
  }
}

function withDefaultApp(app: string, row: unknown): unknown {
  return typeof row === 'object' && row !== null && !Array.isArray(row) ? { app, ...row } : row;
}

/** The fingerprints of the rows' `partnerOrderId`s, concatenated. */
export function rowKeys(rows: readonly CheckedPayoutRequest[]): string {
  return rows
    .map(({ partnerOrderId }) =>
      createHash('sha256').update(partnerOrderId).digest('base64').slice(0, ROW_KEY_LENGTH),
    )
    .join('');
}

/** A digest of the rows in their order. Differences in amount format and key order do not change it. */
export function rowsDigest(rows: readonly CheckedPayoutRequest[]): string {
  const hash = createHash('sha256');
  // The schema outputs its keys in a fixed order, so equal rows have equal text.
  for (const row of rows) hash.update(JSON.stringify(row)).update('\n');
  return hash.digest('hex');
}
