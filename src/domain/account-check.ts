/** Whether a client's account can pay (spec: Account type and status). */
import type { ClientAccounts } from '../payments/types.ts';
import type { Reason } from './payout.ts';

/**
 * Undefined when the client has a usable account of `currency`, else why it has not.
 * Money in a `TEMP_ACCOUNT` has not passed the risk audit, and a status the spec does not
 * name is no permission: both count as not usable.
 */
export function accountProblem(accounts: ClientAccounts | null, currency: string): Reason | undefined {
  if (accounts === null || accounts.accounts.length === 0) return notUsable('the client has no account');
  const inCurrency = accounts.accounts.filter((account) => account.currency === currency);
  if (inCurrency.length === 0) return notUsable(`the client has no ${currency} account`);
  const available = inCurrency.filter((account) => account.accountType === 'AVAIL_ACCOUNT');
  if (available.length === 0)
    return notUsable(`the client's ${currency} funds have not passed the risk audit (no AVAIL_ACCOUNT)`);
  const bad = available.find((account) => account.status !== 'NORMAL');
  return bad && notUsable(`the ${currency} account is ${bad.status}`);
}

function notUsable(message: string): Reason {
  return { code: 'ACCOUNT_NOT_USABLE', message };
}
