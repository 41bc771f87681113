/** A batch: many payouts at once, each independent of the others. Every row is validated before any payout is started. */

import { createHash } from 'node:crypto';
import { z } from 'zod';
import { LISTED_OUTCOMES, MAX_ROWS_PER_BATCH, PHASES, ROW_KEY_LENGTH, ROW_OUTCOMES } from './codes.ts';
import { type FieldError, repeatCheck } from './failures.ts';
import { appName, type CheckResult, checkBody, count, stateText } from './fields.ts';
import { notDots } from './ids.ts';
import { type CheckedPayoutRequest, payoutRequestSchema } from './payout-request.ts';

export const batchId = z
  .string()
  .regex(
    notDots(/^[\w.-]{1,64}$/),
    'must be 1 to 64 letters, digits, dots, hyphens and underscores, and not "." or ".."',
  );

/** The argument of the batch workflow. Its rows follow by `add`. No payout starts before all of them have been added. */
export const batchRequestSchema = z.strictObject({
  app: appName,
  batchId,
  count: z.int().min(1).max(MAX_ROWS_PER_BATCH),
});
export type BatchRequest = z.output<typeof batchRequestSchema>;

/** `count` rows, starting at row `offset`. The first row is row 0. */
const rowRange = z.strictObject({ offset: count, count });
export type RowRange = z.output<typeof rowRange>;

/** Rows that have been added, with a digest to compare them when they are added again. */
export interface AddedRows extends RowRange {
  digest: string;
}

/** Counts of rows by outcome. */
const tally = z.strictObject({
  started: count.describe('Rows whose payout this batch started'),
  joined: count.describe('Rows whose payout already existed with the same body'),
  phases: z.partialRecord(z.enum(PHASES), count).describe('Open payouts by phase'),
  needingAttention: count.describe('Open payouts with an attention flag'),
  outcomes: z.record(z.enum(ROW_OUTCOMES), count).describe('Finished rows by outcome'),
  rows: z.record(z.enum(LISTED_OUTCOMES), z.array(count)).describe('Rows that need an operator, from row 0'),
});
export type BatchTally = z.output<typeof tally>;

const result = z.strictObject({
  app: z.string(),
  batchId: z.string(),
  count,
  ...tally.shape,
  done: count.describe('Rows that have finished, or that a canceled batch has never started'),
  rejected: count.describe('Finished rows with a conflict or bad input'),
});
export type BatchResult = z.output<typeof result>;

/** The result of the query `state` and of the update `add`. */
export const batchStateSchema = z.strictObject({
  phase: z.enum(['RECEIVING', 'PAYING', 'DONE']),
  ...stateText.shape,
  canceled: z.boolean().describe('Whether the batch was canceled: it starts no more rows'),
  added: count.describe('Rows that have been added'),
  missing: z.array(rowRange),
  ...result.shape,
});
export type BatchState = z.output<typeof batchStateSchema>;

/** The report of a part to its batch. */
export interface PartReport extends BatchTally {
  offset: number;
  /** Identifies the rows. The batch ignores reports from a part of an older batch with other rows. */
  digest: string;
  /** Every row has been started and few payouts are busy, so the next part may begin. */
  allStarted: boolean;
  ended: boolean;
}

/** More than a row has fields. It keeps one bad row from filling the whole response. */
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
  const check = rowCheck(app, offset);
  for (const row of rows) check.add(row);
  return check.errors.length === 0 ? { ok: true, value: check.rows } : { ok: false, errors: check.errors };
}

/**
 * Validates rows one by one, as `checkRows` does, so that a reader of many rows can stop early. `lines`: where the rows
 * begin in their file, filled while it is read.
 */
export function rowCheck(
  app: string,
  offset = 0,
  lines: readonly number[] = [],
  check = (row: unknown) => checkBody(payoutRequestSchema, row),
) {
  const rows: CheckedPayoutRequest[] = [];
  const errors: FieldError[] = [];
  const findRepeated = repeatCheck(lines);
  let next = offset;

  function checkRow(row: unknown, at: number): CheckResult<CheckedPayoutRequest> {
    const checked = check(withDefaultApp(app, row));
    if (!checked.ok) return checked;
    if (checked.value.app !== app) return refused('app', `must be ${app}, the application of the batch`);
    const repeated = findRepeated(checked.value.partnerOrderId, at);
    return repeated ? { ok: false, errors: [repeated] } : checked;
  }

  function add(row: unknown): void {
    const at = next;
    next += 1;
    const checked = checkRow(row, at);
    if (checked.ok) {
      rows.push(checked.value);
      return;
    }
    const line = lines[at];
    for (const { path, message } of checked.errors.slice(0, MAX_ERRORS_PER_ROW)) {
      const error = { path: path === '' ? `${at}` : `${at}.${path}`, message };
      errors.push(line === undefined ? error : { ...error, line });
    }
  }

  /** `rows`: the valid ones. */
  return { rows, errors, add };
}

function refused(path: string, message: string): CheckResult<never> {
  return { ok: false, errors: [{ path, message }] };
}

function withDefaultApp(app: string, row: unknown): unknown {
  return typeof row === 'object' && row !== null && !Array.isArray(row) ? { app, ...row } : row;
}

/** The fingerprints of the rows' `partnerOrderId`s, concatenated. */
export function rowKeys(rows: readonly CheckedPayoutRequest[]): string {
  const keys = rows.map(({ partnerOrderId }) => createHash('sha256').update(partnerOrderId).digest('base64'));
  return keys.map((key) => key.slice(0, ROW_KEY_LENGTH)).join('');
}

/** A digest of the rows in their order. Differences in amount format and key order don't change it. */
export function rowsDigest(rows: readonly CheckedPayoutRequest[]): string {
  const hash = createHash('sha256');
  // The schema outputs its keys in a fixed order, so equal rows have equal text.
  for (const row of rows) hash.update(JSON.stringify(row)).update('\n');
  return hash.digest('hex');
}
