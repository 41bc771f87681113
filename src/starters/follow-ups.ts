/** What the follow-up of a payout found after the payout's end. The result of the payout never changes. */
import type { PayoutRef } from '../../client/payouts.ts';
import { payoutFollowUpWorkflowId } from '../../contract/ids.ts';
import { changesQuery } from '../../contract/payout-messages.ts';
import type { AttentionOf, FollowUpAttentionCode } from '../../domain/attention-codes.ts';
import type { FollowUpResult } from '../../domain/follow-up.ts';
import { isGone } from '../../temporal/client-errors.ts';
import type { Session } from './session.ts';
import { money } from './text.ts';

/** Undefined if the payout has no follow-up, or Temporal no longer keeps it. */
export async function followUpOf(
  { client, withDeadline }: Session,
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

export function followUpReasons({
  returnedSums,
  differences,
  notChecked,
}: FollowUpResult): AttentionOf<FollowUpAttentionCode>[] {
  const returned = returnedSums.map((sum) => ({
    code: 'MONEY_RETURNED' as const,
    message: `${money(sum)} was returned`,
  }));
  return [...returned, ...differences, ...(notChecked ? [notChecked] : [])];
}
