/** Batches as they are, with payouts that end at once: what is measured is the batch. */
import { condition, defineSignal, setHandler, upsertSearchAttributes } from '@temporalio/workflow';
import type { PayoutRequest } from '../../../src/domain/payout.ts';

export { payoutBatch } from '../../../src/workflows/batch/payout-batch.ts';
export { payoutBatchPart } from '../../../src/workflows/batch/payout-batch-part.ts';

/** Lets a payout end that was asked for with the platform `held`. */
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
