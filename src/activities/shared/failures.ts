/**
 * The one mapping from the payments client's errors to Temporal failures. The failure's type is the error's
 * stable code; which types are tried again is the retry policies' business (`workflows/retry-policies.ts`).
 */
import { ApplicationFailure } from '@temporalio/activity';
import { NotSentError, PaymentsError } from '../../payments/index.ts';
import type { Random } from '../../surroundings/surroundings.ts';

/** The service counts calls in any sliding second; waiting a little more than one clears the window. */
const RATE_LIMIT_WINDOW_MS = 1_000;
/** The handover itself takes longer, but the queue holds the call until then. */
const LEASE_MOVES_MS = 50;

export async function mapped<T>(random: Random, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw asFailure(error, random);
  }
}

export function asFailure(error: unknown, random: Random): unknown {
  if (!(error instanceof PaymentsError)) return error;
  if (error instanceof NotSentError && error.reason === 'gate') return leaseMoved(error);
  return ApplicationFailure.create({
    type: error.code,
    message: error.message,
    details: [{ operation: error.operation, httpStatus: error.httpStatus, serviceCode: error.serviceCode }],
    // Spread out, so that whoever was turned away together does not come back together.
    ...(error.code === 'RATE_LIMITED' && { nextRetryDelay: RATE_LIMIT_WINDOW_MS * (1.1 + random.number()) }),
  });
}

/** Nothing was sent, because another process owns the lease now: that one takes the call, and it is no failed try. */
function leaseMoved(error: NotSentError): ApplicationFailure {
  return ApplicationFailure.create({
    type: 'LEASE_MOVED',
    message: error.message,
    nextRetryDelay: LEASE_MOVES_MS,
  });
}
