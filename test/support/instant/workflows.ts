/** The real batches, with payouts that end at once: the batch is what is measured. */
import { condition, defineSignal, setHandler, upsertSearchAttributes } from '@temporalio/workflow';
import type { PayoutRequest } from '../../../src/contract/payout-request.ts';

export { payoutBatch } from '../../../src/workflows/batch/payout-batch.ts';
export { payoutBatchPart } from '../../../src/workflows/batch/payout-batch-part.ts';

/** Ends a payout that was requested with the platform `held`. */
export const release = defineSignal('release');

export async function payout({ partnerOrderId, platform }: PayoutRequest) {
  let released = platform !== 'held';
  setHandler(release, () => {
    released = true;
  });
  await condition(() => released);
  upsertSearchAttributes({ PayoutPhase: ['DONE'], PayoutOutcome: ['SUCCESS'] });
  return { partnerOrderId, outcome: 'SUCCESS', debits: [], splits: [] };
}
