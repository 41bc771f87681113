/** Tells an approver how often this name and account number were paid before. Doesn't compare banks. */
import type { Caller } from '../config/callers.ts';
import { hasPaid } from '../contract/codes.ts';
import type { ListedPayout } from '../contract/lists.ts';
import type { CheckedPayoutRequest } from '../contract/payout-request.ts';
import { mayList } from '../domain/permissions.ts';
import type { PayoutId } from '../service/requests.ts';
import { type Desk, ifKnown } from './context.ts';
import { type Html, html, payoutLink, pill, time } from './html.ts';

/** Open payouts come first in a list. */
const MOST = 100;

export interface AccountHistory {
  payouts: readonly ListedPayout[];
  isCut: boolean;
}

/** Undefined without search keys, for a caller who can't list, and if Temporal doesn't respond. */
export async function accountHistory(
  { service, config }: Desk,
  caller: Caller,
  { receiver }: CheckedPayoutRequest,
): Promise<AccountHistory | undefined> {
  if (!config.keys.search || !mayList(caller)) return undefined;
  const { bankAccountNumber: account, bankAccountName: beneficiary } = receiver;
  const filter = { account, beneficiary, limit: MOST };
  const page = await ifKnown(service.listPayouts(caller, filter));
  return page && { payouts: page.payouts, isCut: page.nextCursor !== undefined };
}

/** `3 payments before, the last started on 12 Nov`. A list that is cut never says that there were none. */
export function historyText({ payouts, isCut }: AccountHistory, { app, partnerOrderId }: PayoutId): Html {
  const others = payouts.filter((one) => one.app !== app || one.partnerOrderId !== partnerOrderId);
  const paid = others.filter(({ outcome }) => hasPaid(outcome));
  const open = others.filter(({ outcome }) => outcome === '').length;
  const [last] = paid.toSorted((one, other) => other.startedAt.localeCompare(one.startedAt));
  const count = `${paid.length}${isCut ? ' or more' : ''}`;
  const before = last
    ? html`${count} ${count === '1' ? 'payment' : 'payments'} before, the <a href="${payoutLink(last)}">last</a> started ${time(last.startedAt, 'brief')}`
    : isCut
      ? html`Too many payouts to tell`
      : pill('FIRST_PAYMENT_TO_THIS_NAME_AND_ACCOUNT', 'warn');
  return html`${before}${open > 0 && html`, ${open} open`}`;
}
