/** The slot of this process for one lease. A process that owns fewer leases polls for the next one sooner. */
import type { ActivitySlotInfo, CustomSlotSupplier } from '@temporalio/worker';
import { abortable, type Clock, sleep } from '../../surroundings/surroundings.ts';
import type { Ownership } from './ownership.ts';

const RECHECK_MS = 20;

export function leaseSlot(
  appId: string,
  ownership: Ownership,
  clock: Clock,
): CustomSlotSupplier<ActivitySlotInfo> {
  /** Present while the slot is used. `released` resolves when it is free again. */
  let used: { released: Promise<void>; release: () => void } | undefined;
  return {
    type: 'custom',
    async reserveSlot(_context, signal) {
      do {
        if (used) await abortable(signal, used.released);
        await sleep(clock, RECHECK_MS, signal);
        await ownership.delayBeforeClaim(signal);
      } while (used || ownership.isBackingOff(appId));
      let release: () => void = () => undefined;
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      used = { released, release };
      return {};
    },
    tryReserveSlot: () => null,
    markSlotUsed: () => undefined,
    releaseSlot() {
      used?.release();
      used = undefined;
    },
  };
}
