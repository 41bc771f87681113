/** What a payout's follow-up has found: the result is never rewritten, so this stands beside it. */

import type { PayoutRef } from '../../client/payouts.ts';
import { payoutFollowUpWorkflowId } from '../../contract/ids.ts';
import { changesQuery } from '../../contract/payout-messages.ts';
import type { AttentionOf, FollowUpAttentionCode } from '../../domain/attention-codes.ts';
import type { FollowUpResult } from '../../domain/follow-up.ts';
import { isGone } from '../../temporal/client-errors.ts';
import type { Session } from './session.ts';
import { money } from './text.ts';

export async function sinceItsEnd(
  { client, soon }: Session,
  { app = 'default', partnerOrderId }: PayoutRef,
): Promise<FollowUpResult> {
  const followUp = client.workflow.getHandle(payoutFollowUpWorkflowId(app, partnerOrderId));
  return soon(() => followUp.query(changesQuery));
}

/** Undefined where nobody has begun to follow it up, or the follow-up is long over and forgotten. */
export async function sinceItsEndIfFollowed(
  session: Session,
  ref: PayoutRef,
): Promise<FollowUpResult | undefined> {
  try {
    return await sinceItsEnd(session, ref);
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

type Attention = AttentionOf<FollowUpAttentionCode>;

export function changesOf({ returnedSums, differences, notChecked }: FollowUpResult): Attention[] {
  const returned = returnedSums.map((sum) => ({
    code: 'MONEY_RETURNED' as const,
    message: `${money(sum)} came back`,
  }));
  return [...returned, ...differences, ...(notChecked ? [notChecked] : [])];
}
