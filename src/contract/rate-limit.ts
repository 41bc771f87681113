/** The rate-limit lease of one `app_id`, and the settings that operators change for all processes. All times are durations,
 * so that clocks of two processes are never compared. */
import { z } from 'zod';
import { time } from './fields.ts';

/** The identity of a lease. The provider limits an `app_id`, so the application's name isn't part of it. */
export interface LeaseKey {
  environment: string;
  appId: string;
}

/** `idle`: calls are rare, so a dead owner may be noticed later, and the lease costs fewer heartbeats. */
export type LeaseMode = 'busy' | 'idle';

/** The report of an owner at the end of its term. It sends nothing afterwards. */
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
  /** How many owners in a row, including this one, gave the lease up because none of their calls reached the provider. */
  unreachedTerms: number;
  nextMode: LeaseMode;
  /** How long no call may be sent yet: an earlier owner may still send, or the provider has responded 429. */
  silentMs: number;
}

/** A handover, and the run in which it is valid. */
export interface ReleasedLease extends LeaseHandover {
  /**
   * The run of the lease workflow in which the process owned the lease. In any other run, the handover may be outdated:
   * a Workflow Reset replays it while a later owner still sends, and so may a restored Temporal.
   */
  runId: string;
}

/** The owner before this term's first attempt. An `unknown` owner may still be sending. */
export type PreviousOwner = 'none' | 'unknown' | ReleasedLease;

/** Who stopped all create calls of an application, and when. */
export const pauseSchema = z.object({
  by: z.string(),
  at: z.string().describe('When the application was paused. ISO 8601'),
  reason: z.string().optional().describe('Why the application was paused'),
});
export type Pause = z.output<typeof pauseSchema>;

/** The largest amount without an approval, by currency. A currency that isn't listed always requires one. */
const above = z.record(z.string(), z.string());

const approvals = z.object({
  /** Absent: the application requires none. */
  above: above.optional(),
  /** By the name of the caller who started the payout. */
  callers: z.record(z.string(), above),
});
export type ApprovalPolicy = z.output<typeof approvals>;

/**
 * Decides for all processes of an application whether a create call may be sent. No default is safe: an operator sets the
 * values, even for a new application.
 */
const sharedSettingsSchema = z.object({
  /** One more with each change. */
  version: z.number(),
  by: z.string(),
  at: time,
  reason: z.string(),
  /** When Temporal last lost something: a restore, or a failover to another region. Null: never. */
  recoveredAt: z.iso.datetime().nullable(),
  approvals,
  /** The version of the namespace when they were set. They expire with a failover, which may lose sends. */
  failoverVersion: z.string(),
});
export type SharedSettings = z.output<typeof sharedSettingsSchema>;

/**
 * Set by operators for all processes. An owner gets them with its term, and every change ends the term. So a process that
 * may send knows the current values.
 */
export const leaseSettingsSchema = z.object({
  /** Absent: each process uses its own configuration. */
  callsPerSecond: z.number().optional(),
  /** Who set `callsPerSecond` last. */
  changedBy: z.string().optional(),
  /** While it is set, no call is sent that creates something. */
  paused: pauseSchema.optional(),
  /** While it is missing, no such call is sent either. */
  shared: sharedSettingsSchema.optional(),
});
export type LeaseSettings = z.output<typeof leaseSettingsSchema>;

/** Given to an owner. It is also the state of the lease workflow, which survives continue-as-new. */
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

/** Throws if they can't be read: no process may then take the lease, as a pause could be lost. */
export function settingsIn(memo: Record<string, unknown> | undefined): LeaseSettings {
  return leaseSettingsSchema.parse(memo?.['settings'] ?? {});
}
