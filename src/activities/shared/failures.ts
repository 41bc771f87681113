/** The Temporal failures of activities. `workflows/shared/retry-policies.ts` decides which types are retried. */
import { ApplicationFailure } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import { NotSentError, PaymentsError } from '../../payments/index.ts';
import type { Random } from '../../runtime/runtime.ts';

/** The provider counts calls in a sliding second. */
const RATE_LIMIT_WINDOW_MS = 1_000;
/** The handover of a lease takes longer, but the queue holds the call until it is complete. */
const LEASE_MOVED_DELAY_MS = 50;

export async function mapped<T>(random: Random, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw asFailure(error, random);
  }
}

export async function nullOn<T>(
  errors: readonly (new (...args: never[]) => Error)[],
  work: () => Promise<T>,
): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (errors.some((one) => error instanceof one)) return null;
    throw error;
  }
}

/** The failure of a provider error. Returns any other error unchanged. */
export function asFailure(error: unknown, random: Random): unknown {
  if (!(error instanceof PaymentsError)) return error;
  const { code, message, operation, httpStatus, serviceCode } = error;
  // Another process owns the lease now and takes the call.
  if (error instanceof NotSentError && error.reason === 'gate')
    return ApplicationFailure.create({ type: 'LEASE_MOVED', message, nextRetryDelay: LEASE_MOVED_DELAY_MS });
  return ApplicationFailure.create({
    type: code,
    message,
    details: [{ operation, httpStatus, serviceCode }],
    // Random, so that calls that were refused together do not return together.
    ...(code === 'RATE_LIMITED' && { nextRetryDelay: RATE_LIMIT_WINDOW_MS * (1.1 + random.number()) }),
  });
}

/** Waits by a retry, which writes no history, occupies no slot and survives restarts. Not an error. */
export function retryIn(nextRetryDelay: number) {
  return { category: ApplicationFailureCategory.BENIGN, nextRetryDelay };
}

export function visibilityLags(): ApplicationFailure {
  return ApplicationFailure.create({
    type: 'VISIBILITY_LAGS',
    message: 'visibility does not show this run yet, so earlier runs may be missing too',
  });
}
