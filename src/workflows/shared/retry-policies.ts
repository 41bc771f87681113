/**
 * How often each kind of call is retried, and why. The error types are the codes of the payments client. A call that
 * waits for the rate limit has not failed, so only creates, follow-ups and reads for a caller limit that wait.
 */
import type { RetryPolicy } from '@temporalio/workflow';

/** The request itself is wrong, according to the provider or our own check: a retry cannot help. */
export const NON_RETRYABLE = ['ILLEGAL_PARAMETER', 'INVALID_REQUEST'];

/** Every error of a read except RATE_LIMITED: the payout's own loop decides when to ask again. */
const ALL_BUT_RATE_LIMITED = [
  ...NON_RETRYABLE,
  ...['SYSTEM_ERROR', 'UNAUTHORIZED', 'UNAVAILABLE', 'MALFORMED_ANSWER', 'AMBIGUOUS', 'REFUSED', 'NOT_SENT'],
  'ORDER_NOT_EXIST',
];

/** Calls to Temporal and not to the provider: harmless, and the workflow needs an answer. */
export const UNTIL_TEMPORAL_ANSWERS: RetryPolicy = {
  initialInterval: '1s',
  backoffCoefficient: 2,
  maximumInterval: '1m',
};

/**
 * Reads that the next step needs (account, quote, confirmation). They change nothing, so they are retried for as long as
 * the provider is unavailable. A call that waits too long is flagged and never fails.
 */
export const UNTIL_ANSWERED: RetryPolicy = {
  ...UNTIL_TEMPORAL_ANSWERS,
  nonRetryableErrorTypes: NON_RETRYABLE,
};

/**
 * Reads with a poll timer behind them. The timer is the retry, so that in an outage not every open payout makes a call
 * per minute. A 429 is no answer: the read waits for at least the provider's window of one second (the activity says
 * how long) and is sent again. The same happens after a worker dies.
 */
export const NEXT_POLL_IS_THE_RETRY: RetryPolicy = {
  ...UNTIL_TEMPORAL_ANSWERS,
  initialInterval: '2s',
  nonRetryableErrorTypes: ALL_BUT_RATE_LIMITED,
};

/** Reads after the end of a payout: they have days, so the retries are slow. */
export const BACKGROUND_RETRY: RetryPolicy = {
  initialInterval: '1m',
  backoffCoefficient: 2,
  maximumInterval: '6h',
  nonRetryableErrorTypes: NON_RETRYABLE,
};

/** Reads that a person waits for: they survive a brief failure, and report an outage within a minute. */
export const WHILE_A_PERSON_WAITS: RetryPolicy = {
  initialInterval: '1s',
  backoffCoefficient: 2,
  maximumAttempts: 4,
  nonRetryableErrorTypes: [...NON_RETRYABLE, 'UNAUTHORIZED'],
};

/**
 * One activity sends a create, or the request for a receiving account, at most once. The workflow confirms the outcome
 * and never repeats the send blindly.
 */
export const NO_RETRY: RetryPolicy = { maximumAttempts: 1 };

/** Slow enough to spare a provider that is down, fast enough for a token with a lifetime of seconds. */
const MAX_TOKEN_INTERVAL_MS = 30_000;
const MIN_TOKEN_INTERVAL_MS = 500;

/**
 * Token calls, until the provider issues a token or refuses. A refresh whose answer was lost is sent again with the
 * same refresh token: there is no other, and if it was used up the provider says so.
 */
export function untilIssuedOrRefused(lifetimeMs: number): RetryPolicy {
  return {
    initialInterval: MIN_TOKEN_INTERVAL_MS,
    backoffCoefficient: 2,
    maximumInterval: Math.min(MAX_TOKEN_INTERVAL_MS, Math.max(MIN_TOKEN_INTERVAL_MS, lifetimeMs / 100)),
    nonRetryableErrorTypes: [...NON_RETRYABLE, 'UNAUTHORIZED', 'REFUSED'],
  };
}
