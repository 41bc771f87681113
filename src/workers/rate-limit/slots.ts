/**
 * Which calls this process fetches from an application's queue, and when: only as many as are about to leave. A
 * fetched call can no longer be overtaken by a more urgent one; one that has left holds nobody up, so a slow
 * provider does not lower the rate by it.
 */
import type { ActivitySlotInfo, CustomSlotSupplier, SlotPermit } from '@temporalio/worker';
import { type Clock, sleep } from '../../surroundings/surroundings.ts';
import type { RateLimiter } from './limiter.ts';

type Slots = CustomSlotSupplier<ActivitySlotInfo>;

/**
 * Fetched ahead: what leaves while a call is on its way here, or while a busy Temporal server pauses. A create that is
 * fetched goes before all of them. At least two, so that a slow rate does not stutter.
 */
const AHEAD_MS = 300;
const LEAST_AHEAD = 2;
/** A fetched call that has not come to the gate by then waits for something else, such as a token. */
const ON_ITS_WAY_MS = 300;
const LOOK_AGAIN_MS = 20;

export class CallSlots implements Slots {
  readonly type = 'custom';
  private readonly limiter: RateLimiter;
  private readonly mostInFlight: number;
  private readonly clock: Clock;
  private readonly held = new Set<SlotPermit>();
  private readonly polling = new Set<SlotPermit>();
  /** In the order in which they came, which is nearly that in which they leave. */
  private readonly onTheirWay: SlotPermit[] = [];
  /** Calls off what waits for them. */
  private readonly timers = new Map<SlotPermit, () => void>();

  constructor(limiter: RateLimiter, mostInFlight: number, clock: Clock) {
    this.limiter = limiter;
    this.mostInFlight = mostInFlight;
    this.clock = clock;
    limiter.whenSpent(() => this.onTheirWay.shift());
  }

  /** How many calls may be fetched and not yet sent. */
  static ahead(callsPerSecond: number): number {
    return Math.max(LEAST_AHEAD, Math.ceil((callsPerSecond * AHEAD_MS) / 1_000));
  }

  async reserveSlot(_context: unknown, signal: AbortSignal): Promise<SlotPermit> {
    while (!this.hasRoom()) {
      const closedMs = this.limiter.closedForMs - AHEAD_MS;
      await sleep(this.clock, Math.max(LOOK_AGAIN_MS, closedMs), signal);
    }
    const permit: SlotPermit = {};
    this.held.add(permit);
    this.polling.add(permit);
    return permit;
  }

  /** Nothing is pushed here: whatever comes has waited its turn in the queue. */
  tryReserveSlot(): null {
    return null;
  }

  markSlotUsed({ permit }: Parameters<Slots['markSlotUsed']>[0]): void {
    this.polling.delete(permit);
    this.onTheirWay.push(permit);
    this.timers.set(
      permit,
      this.clock.after(ON_ITS_WAY_MS, () => this.arrived(permit)),
    );
  }

  releaseSlot({ permit }: Parameters<Slots['releaseSlot']>[0]): void {
    this.held.delete(permit);
    this.polling.delete(permit);
    this.arrived(permit);
  }

  private arrived(permit: SlotPermit): void {
    this.timers.get(permit)?.();
    this.timers.delete(permit);
    const at = this.onTheirWay.indexOf(permit);
    if (at >= 0) this.onTheirWay.splice(at, 1);
  }

  private hasRoom(): boolean {
    const ahead = this.polling.size + Math.max(this.onTheirWay.length, this.limiter.waiting);
    const most = CallSlots.ahead(this.limiter.callsPerSecond);
    const isOpen = this.limiter.counts && this.limiter.closedForMs <= AHEAD_MS;
    return isOpen && ahead < most && this.held.size < this.mostInFlight;
  }
}
