/**
 * How often each kind of call is tried again, and why. The types named here are the codes of the payments
 * client's errors. Waiting for the rate limit is no failure, so only creates and follow-ups bound it.
 */
import type { RetryPolicy } from '@temporalio/workflow';

/** Cannot get better by asking again: the request itself is wrong, by the service's word or by our own check. */
export const NON_RETRYABLE = ['ILLEGAL_PARAMETER', 'INVALID_REQUEST'];

/** Everything a read can fail with but RATE_LIMITED: the payout's own loop decides when to ask again. */
const ANY_ANSWER_BUT_BUSY = [
  ...NON_RETRYABLE,
  'SYSTEM_ERROR',
  'UNAUTHORISED',
  'UNAVAILABLE',
  'MALFORMED_ANSWER',
  'AMBIGUOUS',
  'REFUSED',
  'NOT_SENT',
  'ORDER_NOT_EXIST',
];

/**
 * Reads that the payout cannot go on without (account, quote, "does the order exist"). They harm nothing,
 * so they are repeated for as long as the service is away; a call that waits is flagged, never failed.
 */
export const UNTIL_ANSWERED: RetryPolicy = {
  initialInterval: '1s',
  backoffCoefficient: 2,
  maximumInterval: '1m',
  nonRetryableErrorTypes: NON_RETRYABLE,
};

/**
 * Reads that have a poll timer behind them: the timer is the retry, so that an outage does not turn every
 * open payout into a call a minute. A 429 is not an answer and never counts as a failure: it waits at least
 * the service's window of one second (the activity says how long) and is sent again. So does a worker's death.
 */
export const NEXT_POLL_IS_THE_RETRY: RetryPolicy = {
  initialInterval: '2s',
  backoffCoefficient: 2,
  maximumInterval: '1m',
  nonRetryableErrorTypes: ANY_ANSWER_BUT_BUSY,
};

/** Reads after the end: days are left, so an outage is waited out slowly. */
export const BACKGROUND_RETRY: RetryPolicy = {
  initialInterval: '1m',
  backoffCoefficient: 2,
  maximumInterval: '6h',
  nonRetryableErrorTypes: NON_RETRYABLE,
};

/** Reads that a person waits for: a hiccup is bridged, an outage is told within a minute. */
export const WHILE_A_PERSON_WAITS: RetryPolicy = {
  initialInterval: '1s',
  backoffCoefficient: 2,
  maximumAttempts: 4,
  nonRetryableErrorTypes: [...NON_RETRYABLE, 'UNAUTHORISED'],
};

/** What asks Temporal and not the service harms nothing, and has nothing better to do than to wait for its engine. */
export const WHILE_THE_ENGINE_IS_AWAY: RetryPolicy = {
  initialInterval: '1s',
  backoffCoefficient: 2,
  maximumInterval: '1m',
};

/**
 * A create, of a payout's order or of a receiving account, is sent at most once by one activity; what follows
 * is decided by asking, never by a repeat.
 */
export const NO_RETRY: RetryPolicy = { maximumAttempts: 1 };

/** Slow enough to spare a service that is down, quick enough for a token that lives for seconds. */
const LONGEST_TOKEN_PAUSE_MS = 30_000;
const SHORTEST_TOKEN_PAUSE_MS = 500;

/**
 * Token calls, until the service gives a token or says no. A refresh whose answer was lost is sent again with the
 * same refresh token: the one at hand is the only one there is, and if it was used up the service says so.
 */
export function untilGivenOrRefused(livesMs: number): RetryPolicy {
  return {
    initialInterval: SHORTEST_TOKEN_PAUSE_MS,
    backoffCoefficient: 2,
    maximumInterval: Math.min(LONGEST_TOKEN_PAUSE_MS, Math.max(SHORTEST_TOKEN_PAUSE_MS, livesMs / 100)),
    nonRetryableErrorTypes: [...NON_RETRYABLE, 'UNAUTHORISED', 'REFUSED'],
  };
}
