/** Whether the client's account can pay, and whether the request, the balance, the limits and the approval allow a quote. */

import {
  compareDecimals,
  compareMoney,
  formatMoney,
  increasedBy,
  type Money,
  reachesRate,
  sameMoney,
} from '../contract/money.ts';
import type { AgreedQuote, Reason, Terms } from '../contract/payout.ts';
import type { CheckedPayoutRequest, QuoteLimits } from '../contract/payout-request.ts';
import type { ClientAccounts, Quote, QuoteRequest, UnreadableAccount } from '../contract/provider-records.ts';

/** Undefined if `quote` is acceptable for `request`, otherwise the reason why not. */
export function quoteProblem(request: CheckedPayoutRequest, quote: Quote): Reason | undefined {
  const message = requestMismatch(request, quote) ?? limitViolation(request.limits ?? {}, quote);
  if (message !== undefined) return { code: 'QUOTE_OUT_OF_LIMITS', message };
  return balanceProblem(quote);
}

export function quoteRequestOf(request: CheckedPayoutRequest): QuoteRequest {
  const { payerId, type, instructedAmount, originCurrency, targetCurrency } = request;
  return { payerId, type, instructedAmount, originCurrency, targetCurrency };
}

/** The terms of a quote that the payout keeps. */
export function agreedQuote({ lockRateId, exchangeRate, pay, target, fee }: Quote): AgreedQuote {
  return { lockRateId, exchangeRate, pay, target, fee };
}

/**
 * The worst terms that the approval of a quote with the terms `seen` covers. `tolerance`: by how many percent more the
 * payer may pay, and the fee may be.
 */
export function coveredTerms({ pay, fee, target }: Terms, tolerance = '0'): Terms {
  return { pay: increasedBy(pay, tolerance), fee: increasedBy(fee, tolerance), target };
}

/** Whether no term of `quote` is worse than those that the approval covers. The limits of the request widen nothing. */
export function withinApproval(covered: Terms, quote: Terms): boolean {
  return (
    atMost(quote.pay, covered.pay) && atMost(quote.fee, covered.fee) && atMost(covered.target, quote.target)
  );
}

function requestMismatch(request: CheckedPayoutRequest, quote: Quote): string | undefined {
  const { instructedAmount, originCurrency, targetCurrency } = request;
  if (quote.originCurrency !== originCurrency || quote.targetCurrency !== targetCurrency)
    return `the quote is for ${quote.originCurrency} to ${quote.targetCurrency}, not ${originCurrency} to ${targetCurrency}`;
  if (quote.pay.currency !== originCurrency || quote.target.currency !== targetCurrency)
    return `the quote pays ${formatMoney(quote.pay)} for ${formatMoney(quote.target)}, which are not the requested currencies`;
  if (!sameMoney(quote.target, instructedAmount))
    return `the quote delivers ${formatMoney(quote.target)}, not ${formatMoney(instructedAmount)}`;
  return undefined;
}

function limitViolation(limits: QuoteLimits, quote: Quote): string | undefined {
  if (limits.maxFee && !atMost(quote.fee, limits.maxFee))
    return `the fee ${formatMoney(quote.fee)} exceeds the limit ${formatMoney(limits.maxFee)}`;
  if (limits.maxPay && !atMost(quote.pay, limits.maxPay))
    return `the payer would pay ${formatMoney(quote.pay)}, which exceeds the limit ${formatMoney(limits.maxPay)}`;
  // Not the provider's rate: nothing says in which direction it counts, and no fee is in it.
  if (limits.minRate !== undefined && !reachesRate(quote.target, limits.minRate, quote.pay))
    return `${formatMoney(quote.target)} for ${formatMoney(quote.pay)} is below the lowest rate ${limits.minRate}`;
  return undefined;
}

/** A balance that the quote doesn't show, or shows in another currency, proves nothing. */
function balanceProblem({ pay, available }: Quote): Reason | undefined {
  if (available?.currency !== pay.currency || compareDecimals(pay.amount, available.amount) <= 0)
    return undefined;
  return {
    code: 'INSUFFICIENT_BALANCE',
    message: `the payer would pay ${formatMoney(pay)}, but only ${formatMoney(available)} is available`,
  };
}

/** False for different currencies: a limit in another currency permits nothing. */
function atMost(amount: Money, limit: Money): boolean {
  return amount.currency === limit.currency && compareMoney(amount, limit) <= 0;
}

const AVAILABLE = 'AVAIL_ACCOUNT';

/**
 * Returns undefined if the client has a usable account in `currency`, otherwise the reason why it has none.
 * An account isn't usable if it is a `TEMP_ACCOUNT` (its money hasn't passed the risk audit), if the spec doesn't
 * name its status, or if its row can't be parsed (the row may say that the account is closed).
 */
export function accountProblem(accounts: ClientAccounts | null, currency: string): Reason | undefined {
  if (accounts?.unread?.some((row) => mayMatch(currency, row)))
    return notUsable(`the provider's response about the ${currency} account cannot be read`);
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
function mayMatch(
  wanted: string,
  { currency = wanted, accountType = AVAILABLE }: UnreadableAccount,
): boolean {
  return currency.toUpperCase() === wanted && accountType.toUpperCase() === AVAILABLE;
}

function notUsable(message: string): Reason {
  return { code: 'ACCOUNT_NOT_USABLE', message };
}
