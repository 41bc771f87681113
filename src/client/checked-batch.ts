/** Validates a batch. A separate module, so that validation does not load Temporal. */
import { batchRequestSchema, checkRows } from '../contract/payout-batch.ts';
import { checkBody } from '../contract/payout-request.ts';
import type { BatchRequest } from '../domain/batch.ts';
import type { CheckedPayoutRequest } from '../domain/payout.ts';
import { requireValid } from './invalid-request.ts';

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
}

export interface CheckedBatch {
  request: BatchRequest;
  rows: CheckedPayoutRequest[];
}

/** Reads and validates all rows. Throws `InvalidPayoutRequestError` with every bad row and field. */
export async function checkedBatch({ app = 'default', batchId, payouts }: NewBatch): Promise<CheckedBatch> {
  const bodies: unknown[] = [];
  for await (const body of payouts) bodies.push(body);
  const request = requireValid(checkBody(batchRequestSchema, { app, batchId, count: bodies.length }));
  return { request, rows: requireValid(checkRows(app, bodies)) };
}
