/** Why payouts, and follow-ups of payouts, need somebody: as they say themselves. */

import type { ListedPayout } from '../../client/payout-list.ts';
import type { AttentionCode, AttentionOf } from '../../domain/attention-codes.ts';
import type { Session } from './session.ts';
import { changesOf, sinceItsEnd } from './since-its-end.ts';
import { wrap } from './text.ts';

const ASKED_AT_ONCE = 20;

type Attention = AttentionOf<AttentionCode>;

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

async function reasons(session: Session, row: ListedPayout): Promise<Attention[]> {
  const { app, partnerOrderId } = row;
  if (row.phase !== 'FOLLOW_UP') {
    return (await session.soon(() => session.payouts.state({ app, partnerOrderId }))).reasons;
  }
  return changesOf(await sinceItsEnd(session, row));
}

export function reasonsText(found: readonly Attention[] | undefined): string {
  if (found === undefined) return 'no worker answers';
  return found.map(({ code, message }) => wrap(`${code}: ${message}`)).join('\n');
}
