/** Time-outs of one call, all derived from the longest that one HTTP exchange with the service may take. */

/** Start-to-close time-out of an API activity: after it, no call of that activity can still be sent or answered. */
export function activityTimeoutMs(callTimeoutMs: number): number {
  return 2 * callTimeoutMs + 5_000;
}

/** The part of a lock's life that must be left for the create to be sent. */
const LOCK_MARGIN = 0.1;

/** Later than this a quote is not used any more. Unix milliseconds, on the clock of `quotedAtMs`. */
export function lockExpiresAtMs(quotedAtMs: number, lockLifetimeMs: number): number {
  return quotedAtMs + lockLifetimeMs * (1 - LOCK_MARGIN);
}

/** A create is sent only while its whole exchange still fits into the activity's time-out, with room to spare. */
export function sendWithinMs(callTimeoutMs: number): number {
  return callTimeoutMs + 2_500;
}

/** How a create spends what is left of its lock. Durations only: no two clocks are compared. */
export interface LockBudget {
  /** For the activity to be taken up by a worker; Temporal's server measures it. */
  scheduleToStartMs: number;
  /** From then on until the request must have left; the worker measures it. */
  sendWithinMs: number;
}

/** Undefined when too little is left to try. */
export function lockBudget(lockLeftMs: number, callTimeoutMs: number): LockBudget | undefined {
  const within = Math.min(sendWithinMs(callTimeoutMs), LONGEST_TURN_MS, lockLeftMs / 2);
  if (within < SHORTEST_SEND_MS) return undefined;
  return { scheduleToStartMs: Math.floor(lockLeftMs - within), sendWithinMs: Math.floor(within) };
}

const SHORTEST_SEND_MS = 50;
/** A create says nothing before its claim, so its turn must come within the heartbeat timeout (8 s), with room to spare. */
const LONGEST_TURN_MS = 6_000;
/** Tokens that were exchanged for a code are offered to their renewal for this long: the code works only once. */
export const TOKEN_HANDOVER_TIMEOUT_MS = 10 * 60_000;
