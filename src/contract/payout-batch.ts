/** Validates a batch as callers send it. Every row is validated before any payout is started. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { MAX_ROWS_PER_BATCH, ROW_KEY_LENGTH } from '../domain/batch.ts';
import type { CheckedPayoutRequest } from '../domain/payout.ts';
import { appName, type CheckResult, checkPayoutRequest, type FieldError } from './payout-request.ts';

export const batchId = z
  .string()
  .regex(/^[\w.-]{1,64}$/, 'must be 1 to 64 letters, digits, dots, hyphens and underscores');

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

/** Validates rows one by one, as `checkRows` does, so that a reader of many rows can stop early. */
export class RowCheck {
  /** The valid rows. */
  readonly rows: CheckedPayoutRequest[] = [];
  readonly errors: FieldError[] = [];
  private readonly app: string;
  private readonly rowOf = new Map<string, number>();
  private next: number;

  constructor(app: string, offset = 0) {
    this.app = app;
    this.next = offset;
  }

  add(row: unknown): void {
    const at = this.next;
    this.next += 1;
    const checked = checkRow(this.app, row, this.rowOf);
    if (checked.ok) {
      this.rows.push(checked.value);
      this.rowOf.set(checked.value.partnerOrderId, at);
      return;
    }
    const listed = checked.errors.slice(0, MAX_ERRORS_PER_ROW);
    this.errors.push(...listed.map((error) => ({ ...error, path: rowPath(at, error) })));
  }
}

function checkRow(
  app: string,
  row: unknown,
  rowOf: ReadonlyMap<string, number>,
): CheckResult<CheckedPayoutRequest> {
  const checked = checkPayoutRequest(withDefaultApp(app, row));
  if (!checked.ok) return checked;
  if (checked.value.app !== app)
    return { ok: false, errors: [{ path: 'app', message: `must be ${app}, the application of the batch` }] };
  const duplicateOf = rowOf.get(checked.value.partnerOrderId);
  if (duplicateOf === undefined) return checked;
  return { ok: false, errors: [{ path: 'partnerOrderId', message: `is the same as in row ${duplicateOf}` }] };
}

function withDefaultApp(app: string, row: unknown): unknown {
  return typeof row === 'object' && row !== null && !Array.isArray(row) ? { app, ...row } : row;
}

function rowPath(row: number, { path }: FieldError): string {
  return path === '' ? String(row) : `${row}.${path}`;
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
