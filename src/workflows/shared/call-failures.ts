/** What the failure of a call says: the request is wrong, or nothing was sent. */
import { ActivityFailure, ApplicationFailure, TimeoutFailure } from '@temporalio/workflow';
import { NON_RETRYABLE } from './retry-policies.ts';

/** What the provider, or our own check, calls wrong about the request: asking again cannot help. */
export function refusalIn(error: unknown): string | undefined {
  const cause = error instanceof ActivityFailure ? error.cause : undefined;
  // `nonRetryable` is not set where the retry policy decided, so the type tells.
  const isRefusal = cause instanceof ApplicationFailure && NON_RETRYABLE.includes(cause.type ?? '');
  return isRefusal ? cause.message : undefined;
}

/** Why a call failed, for people. */
export function causeOf(error: unknown): string {
  const cause = error instanceof ActivityFailure ? error.cause : undefined;
  return cause instanceof ApplicationFailure ? `${cause.type}: ${cause.message}` : 'no answer in time';
}

/**
 * The activity ended without having claimed its send, so nothing left any process: no worker took it up, or the one
 * that did died or lost its connection before its claim was acknowledged (H60).
 */
export function provesNothingSent(error: unknown): boolean {
  const cause = error instanceof ActivityFailure ? error.cause : undefined;
  return cause instanceof TimeoutFailure && cause.lastHeartbeatDetails === undefined;
}
