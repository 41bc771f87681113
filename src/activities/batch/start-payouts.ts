/** Starts the payouts of a batch's rows with the client library, under the same rules as all starts. */
import { log } from '@temporalio/activity';
import { isGrpcServiceError, ServiceError } from '@temporalio/client';
import { InvalidPayoutRequestError } from '../../client/invalid-request.ts';
import { PayoutConflictError, type Payouts } from '../../client/payouts.ts';
import { isRetryableTemporalError } from '../../temporal/client-errors.ts';
import { inParallel } from '../shared/in-parallel.ts';
import type { RowStart, StartPayouts } from './batch-types.ts';

/** Tries every row. Then fails if Temporal was unavailable for one of them. */
export async function startPayouts(
  payouts: Pick<Payouts, 'startForBatch'>,
  { app, batchId, startedBy, payouts: rows }: StartPayouts,
): Promise<RowStart[]> {
  const failures: unknown[] = [];
  const starts = await inParallel(rows, async (row): Promise<RowStart> => {
    const { partnerOrderId } = row;
    try {
      const { joined } = await payouts.startForBatch({ ...row, app }, batchId, startedBy);
      return { partnerOrderId, now: joined ? 'joined' : 'started' };
    } catch (error) {
      if (isRetryableTemporalError(error)) failures.push(error);
      return { partnerOrderId, now: verdict(error) };
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
