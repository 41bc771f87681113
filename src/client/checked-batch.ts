/** Validates a batch. A separate module, so that validation does not load Temporal. */
import { setImmediate } from 'node:timers/promises';
import { type BatchRequest, batchRequestSchema, rowCheck } from '../contract/batch.ts';
import { MAX_ROWS_PER_BATCH } from '../contract/codes.ts';
import { type CheckResult, checkBody } from '../contract/fields.ts';
import type { CheckedPayoutRequest } from '../contract/payout-request.ts';
import { InvalidPayoutRequestError, requireValid } from './errors.ts';

/** Identifies a batch: the caller's own id, and the application (default `default`). */
export interface BatchRef {
  app?: string | undefined;
  batchId: string;
}

export interface NewBatch extends BatchRef {
  /** The name of the caller's key. If set, a batch of another caller is rejected. */
  startedBy?: string | undefined;
  /** Payout requests. All are read and validated before anything is started. */
  payouts: Iterable<unknown> | AsyncIterable<unknown>;
  /** Where the rows begin in their file. May be filled while `payouts` is read. */
  lines?: readonly number[] | undefined;
}

export interface CheckedBatch {
  request: BatchRequest;
  rows: CheckedPayoutRequest[];
  lines?: readonly number[] | undefined;
}

/** In a row that is not a payout, every field is bad: more errors would not say more. */
const MAX_ERRORS = 100;
const ROWS_PER_SLICE = 200;

const identity = batchRequestSchema.omit({ count: true });

/**
 * Reads and validates all rows. `check`: of a row. Stops at the row limit and at the first hundred bad fields, and throws
 * `InvalidPayoutRequestError` with the bad fields until there.
 */
export async function checkedBatch(
  { app = 'default', batchId, payouts, lines }: NewBatch,
  check?: (row: unknown) => CheckResult<CheckedPayoutRequest>,
): Promise<CheckedBatch> {
  requireValid(checkBody(identity, { app, batchId }));
  const rows = rowCheck(app, 0, lines, check);
  let count = 0;
  for await (const row of inSlices(payouts)) {
    count += 1;
    if (count > MAX_ROWS_PER_BATCH) break;
    rows.add(row);
    if (rows.errors.length >= MAX_ERRORS)
      throw new InvalidPayoutRequestError(rows.errors.slice(0, MAX_ERRORS), { stopped: true });
  }
  const request = checkBody(batchRequestSchema, { app, batchId, count });
  if (!request.ok) throw new InvalidPayoutRequestError([...request.errors, ...rows.errors]);
  if (rows.errors.length > 0) throw new InvalidPayoutRequestError(rows.errors);
  return { request: request.value, rows: rows.rows, lines };
}

/** Lets the process do other work after every few hundred items. */
export async function* inSlices<T>(items: Iterable<T> | AsyncIterable<T>): AsyncGenerator<T> {
  let count = 0;
  for await (const item of items) {
    yield item;
    count += 1;
    if (count % ROWS_PER_SLICE === 0) await otherWork();
  }
}

/** Resolves after the input and output that wait for the event loop. */
export async function otherWork(): Promise<void> {
  await setImmediate();
}
