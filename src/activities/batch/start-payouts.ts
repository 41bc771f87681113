/** Starts the payouts of a batch's rows with the client library, under the same rules as all starts. */
import { log } from '@temporalio/activity';
import { isGrpcServiceError, ServiceError } from '@temporalio/client';
import { InvalidPayoutRequestError } from '../../client/invalid-request.ts';
import { PayoutConflictError, type Payouts } from '../../client/payouts.ts';
import type { PayoutRequest } from '../../contract/payout-request.ts';
import { inParallel } from '../../runtime/in-parallel.ts';
import { isRetryableTemporalError } from '../../temporal/client-errors.ts';
import type { RowStart, StartPayouts } from './batch-types.ts';

/**
 * Tries every row. Then fails if Temporal was unavailable for one of them. Starts no more rows once `signal` aborts, and
 * fails, because an earlier attempt may have started them.
 */
export async function startPayouts(
  payouts: Pick<Payouts, 'startForBatch'>,
  { app, batchId, startedBy, payouts: rows }: StartPayouts,
  signal: AbortSignal,
): Promise<RowStart[]> {
  const starts = await tryEach(rows, async (row) => {
    if (signal.aborted) return 'notStarted';
    const { joined } = await payouts.startForBatch({ ...row, app }, batchId, startedBy);
    return joined ? 'joined' : 'started';
  });
  if (starts.some(({ now }) => now === 'notStarted')) throw signal.reason;
  return starts;
}

/** A row whose number belongs to another body was not started either. */
export async function findPayouts(
  payouts: Pick<Payouts, 'findForBatch'>,
  { app, batchId, payouts: rows }: StartPayouts,
): Promise<RowStart[]> {
  const found = await tryEach(rows, async (row) => {
    const known = await payouts.findForBatch({ ...row, app }, batchId);
    if (!known) return 'notStarted';
    return known.joined ? 'joined' : 'started';
  });
  return found.map((row) => (row.now === 'conflict' ? { ...row, now: 'notStarted' } : row));
}

async function tryEach(
  rows: StartPayouts['payouts'],
  start: (row: PayoutRequest) => Promise<RowStart['now']>,
): Promise<RowStart[]> {
  const failures: unknown[] = [];
  const starts = await inParallel(rows, async (row): Promise<RowStart> => {
    const { partnerOrderId } = row;
    try {
      return { partnerOrderId, now: await start(row) };
    } catch (error) {
      if (!isRetryableTemporalError(error)) return { partnerOrderId, now: verdict(error) };
      failures.push(error);
      return { partnerOrderId, now: 'notStarted' };
    }
  });
  // The retry joins the payouts that have started.
  if (failures.length > 0) throw failures[0];
  return starts;
}

function verdict(error: unknown): 'conflict' | 'invalid' {
  if (error instanceof PayoutConflictError) return 'conflict';
  if (error instanceof InvalidPayoutRequestError) return 'invalid';
  if (isGrpcServiceError(error instanceof ServiceError ? error.cause : error)) return 'invalid';
  // The payout under this number cannot be read, so it may have another body.
  log.warn('cannot compare a row with the existing payout of the same number', {
    error: error instanceof Error ? error.name : 'unknown',
  });
  return 'conflict';
}
