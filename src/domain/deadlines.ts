/** Time-outs of one call, all derived from the longest that one HTTP exchange with the service may take. */

/** Start-to-close time-out of an API activity: after it, no call of that activity can still be sent or answered. */
export function activityTimeoutMs(callTimeoutMs: number): number {
  return 2 * callTimeoutMs + 5_000;
}

/** The part of a lock's life that must be left for the create to be sent. */
const LOCK_MARGIN = 0.1;

/** Later than this a quote is not used any more. Unix milliseconds. */
export function lockExpiresAtMs(quotedAtMs: number, lockLifetimeMs: number): number {
  return quotedAtMs + lockLifetimeMs * (1 - LOCK_MARGIN);
}

/** A create is sent only while its whole exchange still fits into the activity's time-out, with room to spare. */
export function sendWithinMs(callTimeoutMs: number): number {
  return callTimeoutMs + 2_500;
}
