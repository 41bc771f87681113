/** Starts the payouts of a batch's rows through the client library, under the same rules as every start. */
import { log } from '@temporalio/activity';
import { isGrpcServiceError, ServiceError } from '@temporalio/client';
import { InvalidPayoutRequestError } from '../../client/invalid-request.ts';
import { PayoutConflictError, type Payouts } from '../../client/payouts.ts';
import { inParallel } from '../shared/in-parallel.ts';
import type { RowStart, StartPayouts } from './batch-types.ts';

/** The engine's answers take some milliseconds each; more at once would only queue there. */
const AT_ONCE = 8;
/** gRPC's status of that name: the engine will never take this row. */
const INVALID_ARGUMENT = 3;

/** Every row is tried, whatever happens to the others; fails after that if the engine was not there for some. */
export async function startPayouts(
  payouts: Pick<Payouts, 'startForBatch'>,
  { app, batchId, startedBy, payouts: rows }: StartPayouts,
): Promise<RowStart[]> {
  const failures: unknown[] = [];
  const starts = await inParallel(AT_ONCE, rows, async (row): Promise<RowStart> => {
    const { partnerOrderId } = row;
    try {
      const { joined } = await payouts.startForBatch({ ...row, app }, batchId, startedBy);
      return { partnerOrderId, now: joined ? 'joined' : 'started' };
    } catch (error) {
      if (engineFailed(error)) failures.push(error);
      return { partnerOrderId, now: verdict(error) };
    }
  });
  // All of them come again, and those that are started by now are simply recognised.
  if (failures.length > 0) throw failures[0];
  return starts;
}

/** Worth another try. Whatever else goes wrong with one row must not hold up the others. */
function engineFailed(error: unknown): boolean {
  const cause = error instanceof ServiceError ? error.cause : error;
  if (isGrpcServiceError(cause)) return cause.code !== INVALID_ARGUMENT;
  return error instanceof ServiceError;
}

function verdict(error: unknown): 'conflict' | 'invalid' {
  if (error instanceof PayoutConflictError) return 'conflict';
  if (error instanceof InvalidPayoutRequestError) return 'invalid';
  const cause = error instanceof ServiceError ? error.cause : error;
  if (isGrpcServiceError(cause)) return 'invalid';
  // The number is taken by something that cannot be read here, so nobody can say that it is the same payout.
  log.warn('a row could not be compared with the payout that has its number', {
    error: error instanceof Error ? error.name : 'unknown',
  });
  return 'conflict';
}
