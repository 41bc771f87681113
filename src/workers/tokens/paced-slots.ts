/** The slots of a queue that may use only a small part of the rate limit, however many calls it holds. */
import type { ActivitySlotInfo, CustomSlotSupplier } from '@temporalio/worker';
import { type Clock, sleep } from '../../surroundings/surroundings.ts';

const RECHECK_MS = 20;

/** At most `max` concurrent calls, and one start per `everyMs`. */
export function pacedSlots(max: number, everyMs: number, clock: Clock) {
  let used = 0;
  let opensAtMs = Number.NEGATIVE_INFINITY;
  return {
    type: 'custom',
    async reserveSlot(_context: unknown, signal: AbortSignal) {
      while (used >= max || clock.nowMs() < opensAtMs) await sleep(clock, RECHECK_MS, signal);
      used += 1;
      return {};
    },
    // Refuses eager activities, which would skip the queue.
    tryReserveSlot: () => null,
    markSlotUsed() {
      opensAtMs = clock.nowMs() + everyMs;
    },
    releaseSlot() {
      used -= 1;
    },
  } satisfies CustomSlotSupplier<ActivitySlotInfo>;
}
