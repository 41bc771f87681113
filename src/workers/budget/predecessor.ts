/** What a new owner may believe of the one before, and how long it therefore stays silent. */
import {
  type Before,
  type LeaseNote,
  RENEWAL_COUNTS_MS,
  type Released,
  WINDOW_MS,
} from '../../domain/call-budget-lease.ts';

export interface Predecessor {
  silentMs: number;
  /** It ended in good order; its sends are counted as if they had just been made. */
  released?: Released | undefined;
  learnedMarginMs?: number | undefined;
}

/** The longest that two calls' ways to the service are taken to differ. */
const WAYS_DIFFER_MS = 60;
const ONE_WINDOW_MS = WINDOW_MS + WAYS_DIFFER_MS;

/** `details`: of the last heartbeat of any earlier attempt; absent at the first. */
export function predecessor(before: Before, attempt: number, details: unknown): Predecessor {
  if (attempt > 1) return afterAttempt(attempt, noteIn(details));
  if (before === 'nobody') return { silentMs: ONE_WINDOW_MS };
  // Ended by force: its fence may still hold, and then a window has to pass.
  if (before === 'unknown') return { silentMs: RENEWAL_COUNTS_MS + ONE_WINDOW_MS };
  return { silentMs: 0, released: before };
}

/** Temporal waited for longer than the last acknowledged renewal counts, so its fence has run out already. */
function afterAttempt(attempt: number, note: LeaseNote | undefined): Predecessor {
  const released = note?.attempt === attempt - 1 ? note.released : undefined;
  if (released) return { silentMs: 0, released };
  return { silentMs: ONE_WINDOW_MS, learnedMarginMs: note?.marginMs };
}

function noteIn(details: unknown): LeaseNote | undefined {
  if (typeof details !== 'object' || details === null) return undefined;
  if (!('attempt' in details) || typeof details.attempt !== 'number') return undefined;
  const { attempt } = details;
  const marginMs = 'marginMs' in details ? details.marginMs : undefined;
  const released = 'released' in details ? releasedIn(details.released) : undefined;
  if (typeof marginMs !== 'number') return undefined;
  return { attempt, marginMs, ...(released && { released }) };
}

function releasedIn(value: unknown): Released | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (!('sendAgesMs' in value) || !('marginMs' in value)) return undefined;
  const { sendAgesMs, marginMs } = value;
  if (!Array.isArray(sendAgesMs) || typeof marginMs !== 'number') return undefined;
  const ages = sendAgesMs.filter((age): age is number => typeof age === 'number' && age >= 0);
  return ages.length === sendAgesMs.length ? { sendAgesMs: ages, marginMs } : undefined;
}
