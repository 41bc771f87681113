/** The rate-limit lease of one `app_id`: how long it is valid, and which changes of its settings are valid. */
import { recordOf } from '../contract/compact.ts';
import type { LeaseMode, LeaseSettings, PreviousOwner } from '../contract/rate-limit.ts';

/** The provider counts calls in a sliding window of one second. */
export const WINDOW_MS = 1_000;

/** An owner that doesn't heartbeat for this long loses the lease. An idle owner heartbeats in time for that, and before
 * its next call. */
export const LEASE_TIMEOUT_MS: Record<LeaseMode, number> = { busy: 1_500, idle: 28_000 };

/** How long an acknowledged renewal is valid after it was sent. It ends before Temporal reassigns the lease. */
export const RENEWAL_VALID_MS = 1_300;
export const RENEWAL_INTERVAL_MS = 450;

/** A term ends long before its activity would time out, so that Temporal never reassigns the lease during a term. */
export const MAX_TERM_MS = 24 * 3_600_000;
export const TERM_TIMEOUT_MS = 2 * MAX_TERM_MS;

/** After a term of unknown end, a dead owner must be noticed soon. */
export function modeAfter(previousOwner: PreviousOwner): LeaseMode {
  return typeof previousOwner === 'object' ? previousOwner.nextMode : 'busy';
}

/** The heartbeat details of an owner, for its successor if it crashes. */
export interface LeaseHeartbeat {
  marginMs: number;
  /** The initial silence is over: no earlier owner can still send, and none of their calls is still in the window. */
  alone: boolean;
  /** For operators: the rate of this term. */
  callsPerSecond?: number;
  /** For operators: the version of the shared settings of this term. */
  settingsVersion?: number;
}

/** Drops shared settings from before a failover: Temporal may have lost sends since. */
export function inForce(settings: LeaseSettings, failoverVersion: string): LeaseSettings {
  return settings.shared?.failoverVersion === failoverVersion ? settings : { ...settings, shared: undefined };
}

/** Why no call that creates something is sent; undefined if it is. */
export function holdOf({ paused, shared }: LeaseSettings): 'paused' | 'no-settings' | undefined {
  if (!shared) return 'no-settings';
  return paused && 'paused';
}

export const MAX_REASON_LENGTH = 256;

/** Why the change is invalid; undefined if it is valid. */
export function changeProblem(change: unknown): string | undefined {
  const { callsPerSecond: rate, by } = recordOf(change);
  const whole = typeof rate === 'number' && Number.isInteger(rate) && rate >= 1 && rate <= 10_000;
  if (rate !== null && !whole) return 'callsPerSecond must be a whole number from 1 to 10000, or null';
  return byProblem(by);
}

/** The problem with the request of a pause, or of its end. */
export function pauseProblem(request: unknown): string | undefined {
  const { reason, by } = recordOf(request);
  if (reason !== undefined && (typeof reason !== 'string' || reason.length > MAX_REASON_LENGTH))
    return `reason must be a text of at most ${MAX_REASON_LENGTH} characters`;
  return byProblem(by);
}

function byProblem(by: unknown): string | undefined {
  const isName = typeof by === 'string' && by !== '' && by.length <= 64;
  return isName ? undefined : 'by must be 1 to 64 characters that name who makes the change';
}
