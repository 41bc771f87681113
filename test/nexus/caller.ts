/** A workflow of another team, in its own namespace, that requests a payout. */
import { createNexusServiceClient } from '@temporalio/workflow';
import { type PayoutRequest, type PayoutResult, payoutsService } from '../../src/client/nexus.ts';

export async function payInvoice(endpoint: string, request: PayoutRequest): Promise<PayoutResult> {
  const payouts = createNexusServiceClient({ endpoint, service: payoutsService });
  return payouts.executeOperation('pay', request, { scheduleToCloseTimeout: '1 day' });
}
