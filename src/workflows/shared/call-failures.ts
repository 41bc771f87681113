/** What a failed activity says: the provider refused the request, nothing was sent, or the outcome is unknown. */
import { ActivityFailure, ApplicationFailure, TimeoutFailure } from '@temporalio/workflow';
import { NON_RETRYABLE } from './retry-policies.ts';

/** Why the activity failed; undefined for any other error. */
export function activityCause(error: unknown): Error | undefined {
  return error instanceof ActivityFailure ? error.cause : undefined;
}

/** Why the provider, or our own check, refuses the request: a retry cannot help. */
export function refusalIn(error: unknown): string | undefined {
  const cause = activityCause(error);
  // Temporal does not set `nonRetryable` where the retry policy decides, so the type decides.
  const isRefusal = cause instanceof ApplicationFailure && NON_RETRYABLE.includes(cause.type ?? '');
  return isRefusal ? cause.message : undefined;
}

/** Why a call failed, for a message. */
export function causeOf(error: unknown): string {
  const cause = activityCause(error);
  return cause instanceof ApplicationFailure ? `${cause.type}: ${cause.message}` : 'no answer in time';
}

/**
 * The activity ended before it claimed its send, so nothing left any process: no worker picked it up, or the worker
 * died or lost its connection before Temporal acknowledged the claim (H60).
 */
export function provesNothingSent(error: unknown): boolean {
  const cause = activityCause(error);
  return cause instanceof TimeoutFailure && cause.lastHeartbeatDetails === undefined;
}
