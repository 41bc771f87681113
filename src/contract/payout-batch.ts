/** A batch as callers send it: every row is checked before anything is started. */
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
  count: z.int().min(1).max(MAX_ROWS_PER_BATCH, `must be at most ${MAX_ROWS_PER_BATCH}`),
});

/** More than a row has fields: every bad row is named, and none of them fills the answer by itself. */
const MOST_ERRORS_A_ROW = 25;

/**
 * Checks rows of a batch of `app`, which a row may leave out. A bad field's path begins with its row, counted
 * from `offset`: `17.receiver.bankName`.
 */
export function checkRows(
  app: string,
  rows: readonly unknown[],
  offset = 0,
): CheckResult<CheckedPayoutRequest[]> {
  const errors: FieldError[] = [];
  const value: CheckedPayoutRequest[] = [];
  const rowOf = new Map<string, number>();
  for (const [at, row] of rows.entries()) {
    const checked = checkRow(app, row, rowOf);
    if (checked.ok) {
      value.push(checked.value);
      rowOf.set(checked.value.partnerOrderId, offset + at);
      continue;
    }
    const told = checked.errors.slice(0, MOST_ERRORS_A_ROW);
    errors.push(...told.map((error) => ({ ...error, path: pathIn(offset + at, error) })));
  }
  return errors.length === 0 ? { ok: true, value } : { ok: false, errors };
}

function checkRow(
  app: string,
  row: unknown,
  rowOf: ReadonlyMap<string, number>,
): CheckResult<CheckedPayoutRequest> {
  const checked = checkPayoutRequest(inApplication(app, row));
  if (!checked.ok) return checked;
  if (checked.value.app !== app)
    return { ok: false, errors: [{ path: 'app', message: `must be ${app}, as the batch's` }] };
  const twin = rowOf.get(checked.value.partnerOrderId);
  if (twin === undefined) return checked;
  return { ok: false, errors: [{ path: 'partnerOrderId', message: `is the same as row ${twin}'s` }] };
}

function inApplication(app: string, row: unknown): unknown {
  return typeof row === 'object' && row !== null && !Array.isArray(row) ? { app, ...row } : row;
}

function pathIn(row: number, { path }: FieldError): string {
  return path === '' ? String(row) : `${row}.${path}`;
}

/** A fingerprint of each row's number, one after the other. */
export function rowKeys(rows: readonly CheckedPayoutRequest[]): string {
  return rows
    .map(({ partnerOrderId }) =>
      createHash('sha256').update(partnerOrderId).digest('base64').slice(0, ROW_KEY_LENGTH),
    )
    .join('');
}

/** The same for the same rows in the same order, however their amounts and keys were written. */
export function rowsDigest(rows: readonly CheckedPayoutRequest[]): string {
  const hash = createHash('sha256');
  // The schema writes its keys in its own order, so equal rows are equal text.
  for (const row of rows) hash.update(JSON.stringify(row)).update('\n');
  return hash.digest('hex');
}
