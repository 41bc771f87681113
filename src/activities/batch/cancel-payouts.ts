/** Cancels payouts of a batch that was canceled. */
import type { Payouts } from '../../client/payouts.ts';
import { inParallel } from '../../runtime/runtime.ts';
import { isRetryableTemporalError } from '../../temporal/client-errors.ts';
import type { CancelPayouts } from './batch-types.ts';

/** A payout that the batch has joined belongs to whoever started it. */
export async function cancelPayouts(
  payouts: Pick<Payouts, 'handle' | 'cancel'>,
  { app, batchId, partnerOrderIds }: CancelPayouts,
): Promise<void> {
  await inParallel(partnerOrderIds, async (partnerOrderId) => {
    const ref = { app, partnerOrderId };
    try {
      const { memo } = await payouts.handle(ref).describe();
      if (memo?.['batch'] !== batchId) return;
      await payouts.cancel(ref, { by: `batch ${batchId}`, reason: 'the batch was canceled' });
    } catch (error) {
      // Otherwise it has ended, or may have an order.
      if (isRetryableTemporalError(error)) throw error;
    }
  });
}
