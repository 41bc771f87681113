/** One slot for the lease of one `app_id`; asked for sooner by a process that owns fewer. */

import type { ActivitySlotInfo, CustomSlotSupplier, SlotPermit } from '@temporalio/worker';
import { abortable, type Clock, sleep } from '../../surroundings/surroundings.ts';
import type { Ownership } from './ownership.ts';

const LOOK_AGAIN_MS = 20;

export class LeaseSlot implements CustomSlotSupplier<ActivitySlotInfo> {
  readonly type = 'custom';
  private readonly appId: string;
  private readonly ownership: Ownership;
  private readonly clock: Clock;
  /** The lease is held here; resolves when it goes. */
  private held: { until: Promise<void>; release: () => void } | undefined;

  constructor(appId: string, ownership: Ownership, clock: Clock) {
    this.appId = appId;
    this.ownership = ownership;
    this.clock = clock;
  }

  async reserveSlot(_context: unknown, signal: AbortSignal): Promise<SlotPermit> {
    do {
      if (this.held) await abortable(signal, this.held.until);
      await sleep(this.clock, LOOK_AGAIN_MS, signal);
      await this.ownership.beforeClaiming(signal);
    } while (this.held || this.ownership.staysOff(this.appId));
    this.held = open();
    return {};
  }

  tryReserveSlot(): null {
    return null;
  }

  markSlotUsed(): void {}

  releaseSlot(): void {
    this.held?.release();
    this.held = undefined;
  }
}

function open(): { until: Promise<void>; release: () => void } {
  let release: () => void = () => undefined;
  const until = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { until, release };
}
