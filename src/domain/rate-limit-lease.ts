/**
 * The rate-limit lease of one `app_id`: how long it counts, and what one owner tells the next. Times are always spans,
 * never moments: clocks of two processes are not compared.
 */

/** The provider counts calls in any sliding second. */
export const WINDOW_MS = 1_000;
/** An owner that Temporal has not heard of for this long has lost the lease. */
export const LEASE_TIMEOUT_MS = 1_500;
/** An acknowledged renewal counts for this long after it was sent: it ends before Temporal gives the lease away. */
export const RENEWAL_VALID_MS = 1_300;
export const RENEWAL_INTERVAL_MS = 450;
/** A term ends by itself long before its activity would time out, so that Temporal never takes it away unasked. */
export const MAX_TERM_MS = 24 * 3_600_000;
export const TERM_TIMEOUT_MS = 2 * MAX_TERM_MS;

/** The provider limits an `app_id`, whatever name we give to it: so the name is no part of the lease's identity. */
export interface LeaseKey {
  environment: string;
  appId: string;
}

/** What an owner says at the end of its term: after it, it sends nothing. */
export interface LeaseHandover {
  /** How long before it stopped each call of the last window arrived at the latest. */
  sendAgesMs: number[];
  /** The margin that it had learned to need. */
  marginMs: number;
  /** How many owners in a row, this one included, gave the lease up because no call of theirs reached the provider. */
  unreachedTerms: number;
}

/** Last words, and where they count. */
export interface ReleasedLease extends LeaseHandover {
  /**
   * The run of the lease's workflow in which it owned the lease. In any other run these words may be old: a workflow
   * reset replays them while a later owner still sends.
   */
  runId: string;
  /**
   * The `PAYOUTS_TEMPORAL_RECOVERED_AT` of its process, in Unix milliseconds. Under another setting these words may be
   * old: a restored Temporal knows nothing of later owners.
   */
  recoveredAtMs?: number | undefined;
}

/** What an owner's heartbeats say, for the next one if this one dies. */
export interface LeaseHeartbeat {
  marginMs: number;
  /** Its own silence is over: no call of an earlier owner can still be counted, and none can still send. */
  alone: boolean;
}

/** Who had the lease before this term's first attempt: `unknown` may still be sending. */
export type PreviousOwner = 'nobody' | 'unknown' | ReleasedLease;

export interface LeaseTerm {
  before: PreviousOwner;
  /** Set by an operator; each process's own configuration otherwise. */
  callsPerSecond?: number | undefined;
  /** The application's name, as the last owner's configuration has it. */
  app: string;
}

/** What survives continue-as-new. */
export interface LeaseRecord extends LeaseTerm {
  changedBy?: string | undefined;
}

export interface RateLimitState {
  /** Null: each worker's own configuration counts. */
  callsPerSecond: number | null;
  changedBy: string | null;
}

export interface CallsPerSecondChange {
  /** Null goes back to the workers' configuration. */
  callsPerSecond: number | null;
  by: string;
}

/** Why this change cannot be made; undefined when it can. */
export function changeProblem(change: unknown): string | undefined {
  if (typeof change !== 'object' || change === null) return 'must be an object';
  const rate = 'callsPerSecond' in change ? change.callsPerSecond : undefined;
  const whole = typeof rate === 'number' && Number.isInteger(rate) && rate >= 1 && rate <= 10_000;
  if (rate !== null && !whole) return 'callsPerSecond must be a whole number from 1 to 10000, or null';
  const by = 'by' in change ? change.by : undefined;
  if (typeof by !== 'string' || by === '' || by.length > 64) return 'by must say who changes it';
  return undefined;
}
