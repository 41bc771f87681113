/** What a new owner knows about the previous one, and how long it must therefore send nothing. */

import type { PreviousOwner, ReleasedLease } from '../../contract/rate-limit.ts';
import { type LeaseHeartbeat, RENEWAL_VALID_MS, WINDOW_MS } from '../../domain/rate-limit.ts';

export interface Predecessor {
  silentMs: number;
  /** Present if it released the lease. The new owner counts its sends as its own. */
  released?: ReleasedLease | undefined;
  learnedMarginMs?: number | undefined;
  /** In a retry: calls of the owner before the first attempt that may still arrive, as `LeaseHandover` has them. */
  unprovenForMs?: readonly number[] | undefined;
}

export interface TermStart {
  before: PreviousOwner;
  runId: string;
  attempt: number;
  /** How long after the first attempt this one was scheduled. */
  afterFirstMs: number;
  /** The last heartbeat of earlier attempts; undefined in the first attempt. */
  details?: unknown;
}

/** How late a call of an ended process may arrive. */
const MAX_DELAY_MS = 200;
const ONE_WINDOW_MS = WINDOW_MS + MAX_DELAY_MS;
/** An owner that may still send: first its lease expires, then its last calls leave the window. */
const FENCE_AND_WINDOW_MS = RENEWAL_VALID_MS + ONE_WINDOW_MS;

export function predecessor(start: TermStart): Predecessor {
  const { before, attempt, afterFirstMs, details } = start;
  if (attempt === 1) {
    if (before === 'none') return { silentMs: ONE_WINDOW_MS };
    return isCurrent(before, start) ? { silentMs: 0, released: before } : { silentMs: FENCE_AND_WINDOW_MS };
  }
  // The previous owner is an earlier attempt. It timed out after its lease had expired, or ended.
  const heartbeat = heartbeatIn(details);
  const released = isCurrent(before, start) ? before : undefined;
  const wasAlone = heartbeat?.alone || before === 'none' || released;
  return {
    silentMs: wasAlone ? ONE_WINDOW_MS : FENCE_AND_WINDOW_MS,
    learnedMarginMs: heartbeat?.marginMs,
    unprovenForMs: released?.unprovenForMs
      ?.map((closesInMs) => closesInMs - afterFirstMs)
      .filter((closesInMs) => closesInMs > 0),
  };
}

/** False for another run, because a reset replays old handovers. After a restore, new settings begin another run. */
function isCurrent(before: PreviousOwner, { runId }: TermStart): before is ReleasedLease {
  return typeof before === 'object' && before.runId === runId;
}

function heartbeatIn(details: unknown): LeaseHeartbeat | undefined {
  if (typeof details !== 'object' || details === null) return undefined;
  if (!('marginMs' in details && typeof details.marginMs === 'number')) return undefined;
  return { marginMs: details.marginMs, alone: 'alone' in details && details.alone === true };
}
