/** Batches as they are, with payouts that end at once: what is measured is the batch. */
import { upsertSearchAttributes } from '@temporalio/workflow';
import type { PayoutRequest } from '../../../src/domain/payout.ts';

export { payoutBatch } from '../../../src/workflows/payout-batch.ts';
export { payoutBatchPart } from '../../../src/workflows/payout-batch-part.ts';

export async function payout({ partnerOrderId }: PayoutRequest) {
  upsertSearchAttributes({ PayoutPhase: ['DONE'], PayoutOutcome: ['SUCCESS'] });
  return { partnerOrderId, outcome: 'SUCCESS', debits: [], splits: [] };
}
