/** Checks whether a client's account can pay (spec: Account type and status). */

import type { Reason } from './payout.ts';
import type { ClientAccounts, UnreadableAccount } from './provider-records.ts';

const AVAILABLE = 'AVAIL_ACCOUNT';

/**
 * Returns undefined if the client has a usable account in `currency`, otherwise the reason why it has none.
 * An account is not usable if it is a `TEMP_ACCOUNT` (its money has not passed the risk audit), if the spec does not
 * name its status, or if its row cannot be parsed (the row may say that the account is closed).
 */
export function accountProblem(accounts: ClientAccounts | null, currency: string): Reason | undefined {
  if (accounts?.unread?.some((row) => mayMatch(row, currency)))
    return notUsable(`the provider's answer about the ${currency} account cannot be read`);
  if (accounts === null || accounts.accounts.length === 0) return notUsable('the client has no account');
  const inCurrency = accounts.accounts.filter((account) => account.currency === currency);
  if (inCurrency.length === 0) return notUsable(`the client has no ${currency} account`);
  const available = inCurrency.filter((account) => account.accountType === AVAILABLE);
  if (available.length === 0)
    return notUsable(`the client's ${currency} funds have not passed the risk audit (no AVAIL_ACCOUNT)`);
  const unusable = available.find((account) => account.status !== 'NORMAL');
  return unusable && notUsable(`the ${currency} account is ${unusable.status}`);
}

/** Whether the unreadable row could be the available account in this currency. */
function mayMatch(row: UnreadableAccount, currency: string): boolean {
  return matchesOrAbsent(row.currency, currency) && matchesOrAbsent(row.accountType, AVAILABLE);
}

function matchesOrAbsent(value: string | undefined, expected: string): boolean {
  return value === undefined || value.toUpperCase() === expected.toUpperCase();
}

function notUsable(message: string): Reason {
  return { code: 'ACCOUNT_NOT_USABLE', message };
}
