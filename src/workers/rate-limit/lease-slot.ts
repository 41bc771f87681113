/** One slot for the lease of one `app_id`; asked for sooner by a process that owns fewer. */

import type { ActivitySlotInfo, CustomSlotSupplier, SlotPermit } from '@temporalio/worker';
import type { Ownership } from './ownership.ts';
import { pause } from './pause.ts';

const LOOK_AGAIN_MS = 20;

export class LeaseSlot implements CustomSlotSupplier<ActivitySlotInfo> {
  readonly type = 'custom';
  private readonly appId: string;
  private readonly ownership: Ownership;
  private taken = false;

  constructor(appId: string, ownership: Ownership) {
    this.appId = appId;
    this.ownership = ownership;
  }

  async reserveSlot(_context: unknown, signal: AbortSignal): Promise<SlotPermit> {
    do {
      await pause(LOOK_AGAIN_MS, signal);
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
