/**
 * The rate-limit lease of one `app_id`: how long it is valid, and what one owner hands over to the next. All times are
 * durations, so that clocks of two processes are never compared.
 */

import type { ApprovalPolicy } from './approval-policy.ts';

/** The provider counts calls in a sliding window of one second. */
export const WINDOW_MS = 1_000;
/** An owner that does not heartbeat for this long loses the lease. */
export const LEASE_TIMEOUT_MS = 1_500;
/** How long an acknowledged renewal is valid after it was sent. It ends before Temporal reassigns the lease. */
export const RENEWAL_VALID_MS = 1_300;
export const RENEWAL_INTERVAL_MS = 450;
/** A term ends long before its activity would time out, so that Temporal never reassigns the lease during a term. */
export const MAX_TERM_MS = 24 * 3_600_000;
export const TERM_TIMEOUT_MS = 2 * MAX_TERM_MS;

/** The identity of a lease. The provider limits an `app_id`, so the application's name is not part of it. */
export interface LeaseKey {
  environment: string;
  appId: string;
}

/** What an owner reports at the end of its term. It sends nothing afterwards. */
export interface LeaseHandover {
  /** For each call that arrived in the last window: the minimum time between its arrival and the end of the term. */
  sendAgesMs: number[];
  /**
   * For each call that may still arrive and occupies a place: how long after the end of the term its connection may stay
   * open.
   */
  unprovenForMs: number[];
  /** The safety margin that the owner has learned. */
  marginMs: number;
  /**
   * How many owners in a row, including this one, gave the lease up because none of their calls reached the provider.
   */
  unreachedTerms: number;
}

/** A handover, and the run in which it is valid. */
export interface ReleasedLease extends LeaseHandover {
  /**
   * The run of the lease workflow in which the process owned the lease. In any other run, the handover may be outdated:
   * a Workflow Reset replays it while a later owner still sends, and so may a restored Temporal.
   */
  runId: string;
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

/** The owner before this term's first attempt. An `unknown` owner may still be sending. */
export type PreviousOwner = 'none' | 'unknown' | ReleasedLease;

/** Who stopped all create calls of an application, and when. */
export interface Pause {
  by: string;
  /** ISO 8601. */
  at: string;
  reason?: string | undefined;
}

/**
 * What operators set for all processes at once. An owner gets it with its term and never learns of a change: every change
 * ends the term. So a process that may send knows the current values.
 */
export interface LeaseSettings {
  /** If absent, each process uses its own configuration. */
  callsPerSecond?: number | undefined;
  /** Who set `callsPerSecond` last. */
  changedBy?: string | undefined;
  /** While it is set, the owner sends no call that creates something at the provider. */
  paused?: Pause | undefined;
  /** While it is missing, the owner sends no such call either. */
  shared?: SharedSettings | undefined;
}

/**
 * What decides whether a create may be sent, for all processes of an application. Nobody knows a value by default: a
 * person sets it, also for a new application.
 */
export interface SharedSettings {
  /** One more with each change. */
  version: number;
  by: string;
  /** ISO 8601. */
  at: string;
  reason: string;
  /** When Temporal last lost something: a restore, or a failover to another region. ISO 8601. Null: never. */
  recoveredAt: string | null;
  approvals: ApprovalPolicy;
  /** Of the namespace when the settings were set. After a failover they no longer count: Temporal may have lost sends. */
  failoverVersion: string;
}

/** Without shared settings from before a failover: Temporal may have lost sends since. */
export function inForce(settings: LeaseSettings, failoverVersion: string): LeaseSettings {
  return settings.shared?.failoverVersion === failoverVersion ? settings : { ...settings, shared: undefined };
}

/** Why no call that creates something is sent; undefined if it is. */
export function holdOf({ paused, shared }: LeaseSettings): 'paused' | 'no-settings' | undefined {
  if (!shared) return 'no-settings';
  return paused && 'paused';
}

/** What an owner needs to know. It is also the state of the lease workflow, which survives continue-as-new. */
export interface LeaseTerm {
  previousOwner: PreviousOwner;
  settings: LeaseSettings;
  /** The application's name in the last owner's configuration. */
  app: string;
}

export interface RateLimitState {
  /** Null: each worker uses its own configuration. */
  callsPerSecond: number | null;
  changedBy: string | null;
  paused: Pause | null;
}

export interface CallsPerSecondChange {
  /** Null restores the workers' configuration. */
  callsPerSecond: number | null;
  by: string;
}

export interface PauseRequest {
  by: string;
  reason?: string | undefined;
}

export const MAX_REASON_LENGTH = 256;

/** Why the change is invalid; undefined if it is valid. */
export function changeProblem(change: unknown): string | undefined {
  if (typeof change !== 'object' || change === null) return 'must be an object';
  const rate = 'callsPerSecond' in change ? change.callsPerSecond : undefined;
  const whole = typeof rate === 'number' && Number.isInteger(rate) && rate >= 1 && rate <= 10_000;
  if (rate !== null && !whole) return 'callsPerSecond must be a whole number from 1 to 10000, or null';
  return byProblem(change);
}

export function reasonProblem(reason: string): string | undefined {
  const { length } = reason;
  return length > 0 && length <= MAX_REASON_LENGTH
    ? undefined
    : `reason must be a text of 1 to ${MAX_REASON_LENGTH} characters`;
}

/** Of a pause, and of its end. */
export function pauseProblem(request: unknown): string | undefined {
  if (typeof request !== 'object' || request === null) return 'must be an object';
  const reason = 'reason' in request ? request.reason : undefined;
  if (reason !== undefined && (typeof reason !== 'string' || reason.length > MAX_REASON_LENGTH))
    return `reason must be a text of at most ${MAX_REASON_LENGTH} characters`;
  return byProblem(request);
}

export function byProblem(change: object): string | undefined {
  const by = 'by' in change ? change.by : undefined;
  if (typeof by !== 'string' || by === '' || by.length > 64)
    return 'by must be 1 to 64 characters that name who makes the change';
  return undefined;
}
