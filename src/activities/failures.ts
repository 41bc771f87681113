/**
 * The one mapping from the payments client's errors to Temporal failures. The failure's type is the error's
 * stable code; which types are tried again is the retry policies' business (`workflows/retry-policies.ts`).
 */
import { ApplicationFailure } from '@temporalio/activity';
import { NotSentError, PaymentsError } from '../payments/index.ts';

/** The service counts calls in any sliding second; waiting a little more than one clears the window. */
const RATE_LIMIT_WINDOW_MS = 1_000;
/** The hand-over itself takes longer, but the queue holds the call until then. */
const BUDGET_MOVES_MS = 50;

export async function mapped<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw asFailure(error);
  }
}

export function asFailure(error: unknown): unknown {
  if (!(error instanceof PaymentsError)) return error;
  if (error instanceof NotSentError && error.reason === 'gate') return budgetMoved(error);
  return ApplicationFailure.create({
    type: error.code,
    message: error.message,
    details: [{ operation: error.operation, httpStatus: error.httpStatus, serviceCode: error.serviceCode }],
    // Spread out, so that whoever was turned away together does not come back together.
    ...(error.code === 'RATE_LIMITED' && { nextRetryDelay: RATE_LIMIT_WINDOW_MS * (1.1 + Math.random()) }),
  });
}

/** Nothing was sent, for another process owns the budget now: that one takes the call up, and it is no failed try. */
function budgetMoved(error: NotSentError): ApplicationFailure {
  return ApplicationFailure.create({
    type: 'BUDGET_MOVED',
    message: error.message,
    nextRetryDelay: BUDGET_MOVES_MS,
  });
}
