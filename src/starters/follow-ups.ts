/** What the follow-up of a payout found after the payout's end. The result of the payout never changes. */
import type { Client } from '@temporalio/client';
import { followUpResultOf } from '../client/acknowledgements.ts';
import type { PayoutRef } from '../client/payouts.ts';
import type { FollowUpResult } from '../contract/reconciliation.ts';

interface FollowUpReader {
  client: Client;
  withDeadline<T>(call: () => Promise<T>): Promise<T>;
}

/** Undefined if the payout has no follow-up, or Temporal no longer keeps it. */
export async function followUpOf(
  { client, withDeadline }: FollowUpReader,
  { app = 'default', partnerOrderId }: PayoutRef,
): Promise<FollowUpResult | undefined> {
  return withDeadline(() => followUpResultOf(client, { app, partnerOrderId }));
}
