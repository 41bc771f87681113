/** Slots of a queue whose calls may only take a small part of the rate limit, however many of them wait. */
import type { ActivitySlotInfo, CustomSlotSupplier, SlotPermit } from '@temporalio/worker';
import { type Clock, sleep } from '../../surroundings/surroundings.ts';

type Slots = CustomSlotSupplier<ActivitySlotInfo>;

const LOOK_AGAIN_MS = 20;

export class PacedSlots implements Slots {
  readonly type = 'custom';
  private readonly most: number;
  private readonly everyMs: number;
  private readonly clock: Clock;
  private held = 0;
  private opensAtMs = Number.NEGATIVE_INFINITY;

  /** At most `most` calls at once, and one begun every `everyMs`. */
  constructor(most: number, everyMs: number, clock: Clock) {
    this.most = most;
    this.everyMs = everyMs;
    this.clock = clock;
  }

  async reserveSlot(_context: unknown, signal: AbortSignal): Promise<SlotPermit> {
    while (this.held >= this.most || this.clock.nowMs() < this.opensAtMs)
      await sleep(this.clock, LOOK_AGAIN_MS, signal);
    this.held += 1;
    return {};
  }

  /** Nothing is pushed here: whatever comes has waited its turn in the queue. */
  tryReserveSlot(): null {
    return null;
  }

  markSlotUsed(): void {
    this.opensAtMs = this.clock.nowMs() + this.everyMs;
  }

  releaseSlot(): void {
    this.held -= 1;
  }
}
