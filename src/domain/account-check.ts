/** Whether a client's account can pay (spec: Account type and status). */

import type { Reason } from './payout.ts';
import type { ClientAccounts, UnreadableAccount } from './provider-records.ts';

const AVAILABLE = 'AVAIL_ACCOUNT';

/**
 * Undefined when the client has a usable account of `currency`, else why it has not.
 * Money in a `TEMP_ACCOUNT` has not passed the risk audit, a status the spec does not name is no permission, and a
 * row that cannot be read may say that the account is closed: each counts as not usable.
 */
export function accountProblem(accounts: ClientAccounts | null, currency: string): Reason | undefined {
  if (accounts?.unread?.some((row) => mayBe(row, currency)))
    return notUsable(`the provider's answer about the ${currency} account cannot be read`);
  if (accounts === null || accounts.accounts.length === 0) return notUsable('the client has no account');
  const inCurrency = accounts.accounts.filter((account) => account.currency === currency);
  if (inCurrency.length === 0) return notUsable(`the client has no ${currency} account`);
  const available = inCurrency.filter((account) => account.accountType === AVAILABLE);
  if (available.length === 0)
    return notUsable(`the client's ${currency} funds have not passed the risk audit (no AVAIL_ACCOUNT)`);
  const bad = available.find((account) => account.status !== 'NORMAL');
  return bad && notUsable(`the ${currency} account is ${bad.status}`);
}

/** What the row leaves open could be the available account of this currency. */
function mayBe(row: UnreadableAccount, currency: string): boolean {
  return isOrUnknown(row.currency, currency) && isOrUnknown(row.accountType, AVAILABLE);
}

function isOrUnknown(said: string | undefined, wanted: string): boolean {
  return said === undefined || said.toUpperCase() === wanted.toUpperCase();
}

function notUsable(message: string): Reason {
  return { code: 'ACCOUNT_NOT_USABLE', message };
}
