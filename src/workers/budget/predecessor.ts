/** What a new owner may believe of the one before, and how long it therefore stays silent. */
import {
  type Before,
  LEASE_TIMEOUT_MS,
  RENEWAL_COUNTS_MS,
  type Released,
  WINDOW_MS,
} from '../../domain/rate-limit-lease.ts';

export interface Predecessor {
  silentMs: number;
  /** It ended in good order; its sends are counted as if they had just been made. */
  released?: Released | undefined;
  learnedMarginMs?: number | undefined;
}

/** The longest that two calls' ways to the service are taken to differ. */
const WAYS_DIFFER_MS = 60;
const ONE_WINDOW_MS = WINDOW_MS + WAYS_DIFFER_MS;
/** When Temporal gives a lease to the next attempt, the owner's fence has been shut for at least this long. */
const ALREADY_SILENT_MS = LEASE_TIMEOUT_MS - RENEWAL_COUNTS_MS;

/** `details`: of the last heartbeat of any earlier attempt; absent at the first. */
export function predecessor(before: Before, attempt: number, details: unknown): Predecessor {
  if (attempt > 1) return { silentMs: ONE_WINDOW_MS - ALREADY_SILENT_MS, learnedMarginMs: marginIn(details) };
  if (before === 'nobody') return { silentMs: ONE_WINDOW_MS };
  // Ended by force: its fence may still hold, and then a window has to pass.
  if (before === 'unknown') return { silentMs: RENEWAL_COUNTS_MS + ONE_WINDOW_MS };
  return { silentMs: 0, released: before };
}

function marginIn(details: unknown): number | undefined {
  if (typeof details !== 'object' || details === null || !('marginMs' in details)) return undefined;
  return typeof details.marginMs === 'number' ? details.marginMs : undefined;
}
