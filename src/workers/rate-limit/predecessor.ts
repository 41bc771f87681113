/** What a new owner knows about the one before, and how long it therefore stays silent. */
import {
  type LeaseHeartbeat,
  type PreviousOwner,
  RENEWAL_VALID_MS,
  type ReleasedLease,
  WINDOW_MS,
} from '../../domain/rate-limit-lease.ts';

export interface Predecessor {
  silentMs: number;
  /** It ended in good order; its sends count as this owner's own. */
  released?: ReleasedLease | undefined;
  learnedMarginMs?: number | undefined;
}

export interface TermStart {
  before: PreviousOwner;
  /** The run of the lease's workflow that this activity belongs to. */
  runId: string;
  /** `PAYOUTS_TEMPORAL_RECOVERED_AT` of this process. */
  recoveredAtMs?: number | undefined;
  attempt: number;
  /** Of the last heartbeat of any earlier attempt; absent at the first. */
  details: unknown;
}

/** How late a call of a process that is gone may arrive. */
const STRAGGLES_MS = 200;
const ONE_WINDOW_MS = WINDOW_MS + STRAGGLES_MS;
/** An owner that may still be sending loses its fence first; then a window has to pass. */
const FENCE_AND_WINDOW_MS = RENEWAL_VALID_MS + ONE_WINDOW_MS;

export function predecessor(start: TermStart): Predecessor {
  const { before, attempt, details } = start;
  if (attempt === 1) {
    if (before === 'nobody') return { silentMs: ONE_WINDOW_MS };
    return isCurrent(before, start) ? { silentMs: 0, released: before } : { silentMs: FENCE_AND_WINDOW_MS };
  }
  // An earlier attempt of this activity: it timed out, and then its fence is shut, or it ended by itself.
  const note = noteIn(details);
  const learnedMarginMs = note?.marginMs;
  const onlyThatOne = note?.alone || before === 'nobody' || isCurrent(before, start);
  return { silentMs: onlyThatOne ? ONE_WINDOW_MS : FENCE_AND_WINDOW_MS, learnedMarginMs };
}

/**
 * Words of another run prove nothing: a workflow reset hands out old ones, whose owner another has followed since. Nor do
 * words from before a restore of Temporal, by the setting that announces it.
 */
function isCurrent(before: PreviousOwner, { runId, recoveredAtMs }: TermStart): before is ReleasedLease {
  return typeof before === 'object' && before.runId === runId && before.recoveredAtMs === recoveredAtMs;
}

function noteIn(details: unknown): LeaseHeartbeat | undefined {
  if (typeof details !== 'object' || details === null) return undefined;
  if (!('marginMs' in details && typeof details.marginMs === 'number')) return undefined;
  return { marginMs: details.marginMs, alone: 'alone' in details && details.alone === true };
}
