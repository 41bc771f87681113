/** One slot for the lease of one `app_id`; asked for sooner by a process that owns fewer. */

import type { ActivitySlotInfo, CustomSlotSupplier, SlotPermit } from '@temporalio/worker';
import { type Clock, sleep } from '../../surroundings/surroundings.ts';
import type { Ownership } from './ownership.ts';

const LOOK_AGAIN_MS = 20;

export class LeaseSlot implements CustomSlotSupplier<ActivitySlotInfo> {
  readonly type = 'custom';
  private readonly appId: string;
  private readonly ownership: Ownership;
  private readonly clock: Clock;
  private taken = false;

  constructor(appId: string, ownership: Ownership, clock: Clock) {
    this.appId = appId;
    this.ownership = ownership;
    this.clock = clock;
  }

  async reserveSlot(_context: unknown, signal: AbortSignal): Promise<SlotPermit> {
    do {
      await sleep(this.clock, LOOK_AGAIN_MS, signal);
      await this.ownership.beforeClaiming(signal);
    } while (this.taken || this.ownership.staysOff(this.appId));
    this.taken = true;
    return {};
  }

  tryReserveSlot(): null {
    return null;
  }

  markSlotUsed(): void {}

  releaseSlot(): void {
    this.taken = false;
  }
}
