/** Why payouts, and follow-ups of payouts, need somebody: as they say themselves. */
import { payoutFollowUpWorkflowId, payoutWorkflowId } from '../../domain/identity.ts';
import type { Attention } from '../../domain/payout.ts';
import { changesQuery } from '../../workflows/follow-up-messages.ts';
import { stateQuery } from '../../workflows/messages.ts';
import type { ListedPayout } from '../payout-list.ts';
import type { Session } from './session.ts';
import { money, wrap } from './text.ts';

const ASKED_AT_ONCE = 20;

/** One for each row; undefined where no worker answers for it. */
export async function reasonsOf(
  session: Session,
  rows: readonly ListedPayout[],
): Promise<(Attention[] | undefined)[]> {
  const found: (Attention[] | undefined)[] = [];
  for (let from = 0; from < rows.length; from += ASKED_AT_ONCE) {
    const asked = rows.slice(from, from + ASKED_AT_ONCE).map((row) => reasons(session, row));
    const told = await Promise.allSettled(asked);
    found.push(...told.map((one) => (one.status === 'fulfilled' ? one.value : undefined)));
  }
  return found;
}

async function reasons({ client, soon }: Session, row: ListedPayout): Promise<Attention[]> {
  const { app, partnerOrderId } = row;
  if (row.phase !== 'FOLLOW_UP') {
    const payout = client.workflow.getHandle(payoutWorkflowId(app, partnerOrderId));
    return (await soon(() => payout.query(stateQuery))).reasons;
  }
  const followUp = client.workflow.getHandle(payoutFollowUpWorkflowId(app, partnerOrderId));
  const { returnedSums, differences } = await soon(() => followUp.query(changesQuery));
  const returned = returnedSums.map((sum) => ({
    code: 'MONEY_RETURNED',
    message: `${money(sum)} came back`,
  }));
  return [...returned, ...differences];
}

export function reasonsText(found: readonly Attention[] | undefined): string {
  if (found === undefined) return 'no worker answers';
  return found.map(({ code, message }) => wrap(`${code}: ${message}`)).join('\n');
}
