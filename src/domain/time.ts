/** Times, and the timeouts of one call, all derived from the longest that one HTTP exchange with the provider may take. */
import type { ClockOffset } from '../contract/workflows.ts';

/** Unix milliseconds as ISO 8601 text. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** The day (UTC), such as `2026-01-31`. */
export function dayOf(ms: number): string {
  return isoTime(ms).slice(0, 10);
}

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/**
 * The other clock read `theirsMs` between `beforeMs` and `afterMs` of our clock. The reading is truncated: the actual
 * time may be up to `resolutionMs` later.
 */
export function clockOffset(
  theirsMs: number,
  beforeMs: number,
  afterMs: number,
  resolutionMs = 0,
): ClockOffset {
  if (theirsMs > afterMs) return theirsMs - afterMs;
  return theirsMs + resolutionMs < beforeMs ? theirsMs + resolutionMs - beforeMs : 0;
}

/** The start-to-close timeout of an API activity. After it, no call of that activity can still be sent or get a response. */
export function activityTimeoutMs(callTimeoutMs: number): number {
  return 2 * callTimeoutMs + 5_000;
}

/** The fraction of a lock's lifetime that is reserved for sending the create call. */
const LOCK_MARGIN = 0.1;

/** When the request for a quote was sent. The provider locks the rate at that time or later. */
export interface QuoteSent {
  /** By the clock of the worker, but no earlier than Temporal scheduled the activity. Unix milliseconds. */
  sentAtMs: number;
  /** How long the response took. Milliseconds. */
  answeredWithinMs: number;
}

/** When a lock began at the earliest, as far as a wrong clock of the worker allows. `seenAtMs` is the workflow's time. */
export function lockBeganAtMs({ sentAtMs, answeredWithinMs }: QuoteSent, seenAtMs: number): number {
  return Math.min(sentAtMs, seenAtMs - answeredWithinMs);
}

/** When a quote stops being usable. Unix milliseconds, on the clock of `quotedAtMs`. */
export function lockExpiresAtMs(quotedAtMs: number, lockLifetimeMs: number): number {
  return quotedAtMs + lockLifetimeMs * (1 - LOCK_MARGIN);
}

/** A create call is sent only while its whole exchange still fits into the activity's timeout, with a margin. */
export function sendWithinMs(callTimeoutMs: number): number {
  return callTimeoutMs + 2_500;
}

/** How a create call divides the remaining lifetime of its lock. Durations only, so that no two clocks are compared. */
export interface LockBudget {
  /** Until Temporal schedules the activity, which is when the workflow task completes. The activity checks it. */
  scheduleWithinMs: number;
  /** From then until a worker starts the activity. Temporal's server measures it. */
  scheduleToStartMs: number;
  /** From then until the request must have been sent. The worker measures it. */
  sendWithinMs: number;
}

/** Undefined if too little of the lock's lifetime is left. */
export function lockBudget(lockLeftMs: number, callTimeoutMs: number): LockBudget | undefined {
  const within = Math.min(sendWithinMs(callTimeoutMs), MAX_TURN_MS, lockLeftMs / 2);
  if (within < MIN_SEND_MS) return undefined;
  const scheduleWithinMs = Math.floor(Math.min(WORKFLOW_TASK_MS, (lockLeftMs - within) / 4));
  const scheduleToStartMs = Math.floor(lockLeftMs - within - scheduleWithinMs);
  return { scheduleWithinMs, scheduleToStartMs, sendWithinMs: Math.floor(within) };
}

/** Temporal's default timeout of a workflow task. */
const WORKFLOW_TASK_MS = 10_000;
const MIN_SEND_MS = 50;

/**
 * A create call doesn't heartbeat before its claim, so its turn must come within the heartbeat timeout (8 s), with a
 * margin.
 */
const MAX_TURN_MS = 6_000;

/** How long the handover of exchanged tokens to their renewal is retried: the authorization code works only once. */
export const TOKEN_HANDOVER_TIMEOUT_MS = 10 * 60_000;
