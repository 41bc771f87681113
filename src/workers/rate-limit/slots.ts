/** The slots of the task queues: when this process fetches an activity, and how many it runs. */
import type { ActivitySlotInfo, CustomSlotSupplier, SlotPermit } from '@temporalio/worker';
import { abortable, type Clock, sleep } from '../../runtime/runtime.ts';
import type { RateLimiter } from './limiter.ts';
import type { Ownership } from './ownership.ts';

/**
 * Fetch as many calls as are sent in this time, to bridge the fetch itself and short pauses of a busy Temporal server. At
 * least two, so that a low rate is used too. A fetched create is sent before all of them.
 */
const PREFETCH_MS = 300;
const MIN_PREFETCH = 2;
/** A fetched call that does not reach the limiter in this time waits for something else, such as a token. */
const MAX_UNDERWAY_MS = 300;
const RECHECK_MS = 20;

/** Wakes what waits for room, so that an idle owner does not look for it all the time. */
class Bell {
  private sleepers: (() => void)[] = [];

  /** Resolves at the next ring. */
  next(signal: AbortSignal): Promise<void> {
    return abortable(signal, new Promise((wake) => this.sleepers.push(wake)));
  }

  ring(): void {
    for (const wake of this.sleepers.splice(0)) wake();
  }
}

/** Eager activities would skip the queue. */
const refuseEager = () => null;

/** The maximum number of fetched calls that have not been sent. */
export function prefetchedCalls(callsPerSecond: number): number {
  return Math.max(MIN_PREFETCH, Math.ceil((callsPerSecond * PREFETCH_MS) / 1_000));
}

/**
 * Fetches calls from an application's queue shortly before they can be sent. A fetched call cannot be overtaken by a more
 * urgent one. A sent call does not count, so a slow provider does not lower the rate.
 */
export function callSlots(
  limiter: RateLimiter,
  maxInFlight: number,
  clock: Clock,
): CustomSlotSupplier<ActivitySlotInfo> {
  const used = new Set<SlotPermit>();
  const polling = new Set<SlotPermit>();
  /** Calls on their way to the limiter, in the order of their fetch, which is about the order of their turns. */
  const underway: SlotPermit[] = [];
  const room = new Bell();
  limiter.onTurn(() => {
    underway.shift();
    room.ring();
  });

  const isOpen = () => limiter.isServing && limiter.closedForMs <= PREFETCH_MS;
  const hasRoom = () => {
    const fetched = polling.size + Math.max(underway.length, limiter.waiting);
    return fetched < prefetchedCalls(limiter.callsPerSecond) && used.size < maxInFlight;
  };
  const arrived = (permit: SlotPermit) => {
    const at = underway.indexOf(permit);
    if (at >= 0) underway.splice(at, 1);
    room.ring();
  };

  return {
    type: 'custom',
    async reserveSlot(_context, signal) {
      for (;;) {
        if (!isOpen()) await sleep(clock, Math.max(RECHECK_MS, limiter.closedForMs - PREFETCH_MS), signal);
        else if (!hasRoom()) await room.next(signal);
        else break;
      }
      const permit: SlotPermit = {};
      used.add(permit);
      polling.add(permit);
      return permit;
    },
    tryReserveSlot: refuseEager,
    markSlotUsed({ permit }) {
      polling.delete(permit);
      underway.push(permit);
      room.ring();
      clock.after(MAX_UNDERWAY_MS, () => arrived(permit));
    },
    releaseSlot({ permit }) {
      used.delete(permit);
      polling.delete(permit);
      arrived(permit);
    },
  };
}

/** For a queue with a small part of the rate limit: at most `max` concurrent calls, and one start per `everyMs`. */
export function pacedSlots(max: number, everyMs: number, clock: Clock) {
  let used = 0;
  let opensAtMs = Number.NEGATIVE_INFINITY;
  const room = new Bell();
  return {
    type: 'custom',
    async reserveSlot(_context: unknown, signal: AbortSignal) {
      for (;;) {
        const closedForMs = opensAtMs - clock.nowMs();
        if (used >= max) await room.next(signal);
        else if (closedForMs > 0) await sleep(clock, Math.ceil(closedForMs), signal);
        else break;
      }
      used += 1;
      return {};
    },
    tryReserveSlot: refuseEager,
    markSlotUsed() {
      opensAtMs = clock.nowMs() + everyMs;
    },
    releaseSlot() {
      used -= 1;
      room.ring();
    },
  } satisfies CustomSlotSupplier<ActivitySlotInfo>;
}

/** The only slot for a lease. */
export function leaseSlot(
  appId: string,
  ownership: Ownership,
  clock: Clock,
): CustomSlotSupplier<ActivitySlotInfo> {
  /** Present while the slot is used. */
  let release: (() => void) | undefined;
  let released = Promise.resolve();
  return {
    type: 'custom',
    async reserveSlot(_context, signal) {
      do {
        await abortable(signal, released);
        await sleep(clock, RECHECK_MS, signal);
      } while (release || ownership.isBackingOff(appId));
      released = new Promise((resolve) => {
        release = resolve;
      });
      return {};
    },
    tryReserveSlot: refuseEager,
    markSlotUsed: () => undefined,
    releaseSlot() {
      release?.();
      release = undefined;
    },
  };
}
