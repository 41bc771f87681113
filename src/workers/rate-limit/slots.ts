/**
 * Fetches calls from an application's queue shortly before they can be sent. A fetched call cannot be overtaken by a more
 * urgent one. A sent call does not count, so a slow provider does not lower the rate.
 */
import type { ActivitySlotInfo, CustomSlotSupplier, SlotPermit } from '@temporalio/worker';
import { type Clock, sleep } from '../../surroundings/surroundings.ts';
import type { RateLimiter } from './limiter.ts';

/**
 * Fetch as many calls as are sent in this time, to bridge the fetch itself and short pauses of a busy Temporal server. At
 * least two, so that a low rate is used too. A fetched create is sent before all of them.
 */
const PREFETCH_MS = 300;
const MIN_PREFETCH = 2;
/** A fetched call that does not reach the limiter in this time waits for something else, such as a token. */
const MAX_UNDERWAY_MS = 300;
const RECHECK_MS = 20;

/** The maximum number of fetched calls that have not been sent. */
export function prefetchedCalls(callsPerSecond: number): number {
  return Math.max(MIN_PREFETCH, Math.ceil((callsPerSecond * PREFETCH_MS) / 1_000));
}

export function callSlots(
  limiter: RateLimiter,
  maxInFlight: number,
  clock: Clock,
): CustomSlotSupplier<ActivitySlotInfo> {
  const used = new Set<SlotPermit>();
  const polling = new Set<SlotPermit>();
  /** Calls on their way to the limiter, in the order of their fetch, which is about the order of their turns. */
  const underway: SlotPermit[] = [];
  const cancelTimers = new Map<SlotPermit, () => void>();
  limiter.onTurn(() => underway.shift());

  const hasRoom = () => {
    const fetched = polling.size + Math.max(underway.length, limiter.waiting);
    const isOpen = limiter.isValid && limiter.closedForMs <= PREFETCH_MS;
    return isOpen && fetched < prefetchedCalls(limiter.callsPerSecond) && used.size < maxInFlight;
  };
  const arrived = (permit: SlotPermit) => {
    cancelTimers.get(permit)?.();
    cancelTimers.delete(permit);
    const at = underway.indexOf(permit);
    if (at >= 0) underway.splice(at, 1);
  };

  return {
    type: 'custom',
    async reserveSlot(_context, signal) {
      while (!hasRoom()) await sleep(clock, Math.max(RECHECK_MS, limiter.closedForMs - PREFETCH_MS), signal);
      const permit: SlotPermit = {};
      used.add(permit);
      polling.add(permit);
      return permit;
    },
    // Refuses eager activities, which would skip the queue.
    tryReserveSlot: () => null,
    markSlotUsed({ permit }) {
      polling.delete(permit);
      underway.push(permit);
      const cancel = clock.after(MAX_UNDERWAY_MS, () => arrived(permit));
      cancelTimers.set(permit, cancel);
    },
    releaseSlot({ permit }) {
      used.delete(permit);
      polling.delete(permit);
      arrived(permit);
    },
  };
}
