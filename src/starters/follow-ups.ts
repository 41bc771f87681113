/** What the follow-up of a payout found after the payout's end. The result of the payout never changes. */
import type { Client } from '@temporalio/client';
import type { PayoutRef } from '../client/payouts.ts';
import { payoutFollowUpWorkflowId } from '../contract/ids.ts';
import { changesQuery } from '../contract/payout-messages.ts';
import type { FollowUpResult } from '../domain/follow-up.ts';
import { isGone } from '../temporal/client-errors.ts';

interface FollowUpReader {
  client: Client;
  withDeadline<T>(call: () => Promise<T>): Promise<T>;
}

/** Undefined if the payout has no follow-up, or Temporal no longer keeps it. */
export async function followUpOf(
  { client, withDeadline }: FollowUpReader,
  { app = 'default', partnerOrderId }: PayoutRef,
): Promise<FollowUpResult | undefined> {
  const followUp = client.workflow.getHandle(payoutFollowUpWorkflowId(app, partnerOrderId));
  try {
    return await withDeadline(() => followUp.query(changesQuery));
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}
