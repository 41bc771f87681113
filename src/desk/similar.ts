/** Payouts that may be a payment for the second time: lists tell them without another call for each. */
import type { Caller } from '../config/callers.ts';
import type { ListedPayout } from '../contract/lists.ts';
import { sameMoney } from '../contract/money.ts';
import type { CheckedPayoutRequest } from '../contract/payout-request.ts';
import { accountEnd } from '../domain/listed-payout.ts';
import { mayList } from '../domain/permissions.ts';
import { DAY_MS } from '../domain/time.ts';
import type { PayoutId } from '../service/requests.ts';
import { type Desk, ifKnown } from './context.ts';

export const SIMILAR_DAYS = 7;
const MOST = 100;

/** At most the first 100 of a list. Empty for a caller who cannot list, and if Temporal does not respond. */
export async function recentPayouts({ service, runtime }: Desk, caller: Caller): Promise<ListedPayout[]> {
  if (!mayList(caller)) return [];
  const createdFrom = new Date(runtime.clock.wallMs() - SIMILAR_DAYS * DAY_MS).toISOString();
  const page = await ifKnown(service.listPayouts(caller, { createdFrom, limit: MOST }));
  return page?.payouts ?? [];
}

/** The others with the same amount, beneficiary and end of the account that have paid, or still may. */
export function similarTo(
  recent: readonly ListedPayout[],
  { app, partnerOrderId, request }: PayoutId & { request: CheckedPayoutRequest },
): ListedPayout[] {
  const { instructedAmount, receiver } = request;
  return recent.filter(
    (one) =>
      (one.partnerOrderId !== partnerOrderId || one.app !== app) &&
      one.outcome !== 'NOT_CREATED' &&
      one.outcome !== 'FAILED' &&
      one.beneficiary === receiver.bankAccountName &&
      one.accountEnd === accountEnd(receiver) &&
      one.instructedAmount !== undefined &&
      sameMoney(one.instructedAmount, instructedAmount),
  );
}
