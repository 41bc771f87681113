/** Checks whether a quote is acceptable: it matches the request, and the balance and the caller's limits allow it. */

import { compareDecimals, compareMoney, formatMoney, type Money, sameMoney } from './money.ts';
import type { AgreedQuote, CheckedPayoutRequest, QuoteLimits, Reason } from './payout.ts';
import type { Quote } from './provider-records.ts';

/** Undefined if `quote` is acceptable for `request`, otherwise the reason why not. */
export function quoteProblem(request: CheckedPayoutRequest, quote: Quote): Reason | undefined {
  const message = requestMismatch(request, quote) ?? limitViolation(request.limits ?? {}, quote);
  if (message !== undefined) return { code: 'QUOTE_OUT_OF_LIMITS', message };
  return balanceProblem(quote);
}

/** The terms of a quote that the payout keeps. */
export function agreedQuote(quote: Quote): AgreedQuote {
  const { lockRateId, exchangeRate, pay, target, fee } = quote;
  return { lockRateId, exchangeRate, pay, target, fee };
}

/**
 * Whether a requote after the approval may replace the approved quote: always if the caller's limits bound the price,
 * otherwise only if it costs no more than the approved quote.
 */
export function withinApproval(
  limits: QuoteLimits | undefined,
  approved: AgreedQuote,
  quote: AgreedQuote,
): boolean {
  if (limits?.maxPay !== undefined || limits?.minRate !== undefined) return true;
  return atMost(quote.pay, approved.pay) && atMost(approved.target, quote.target);
}

function requestMismatch(request: CheckedPayoutRequest, quote: Quote): string | undefined {
  const { instructedAmount, originCurrency, targetCurrency } = request;
  if (quote.originCurrency !== originCurrency || quote.targetCurrency !== targetCurrency)
    return `the quote is for ${quote.originCurrency} to ${quote.targetCurrency}, not ${originCurrency} to ${targetCurrency}`;
  if (quote.pay.currency !== originCurrency || quote.target.currency !== targetCurrency)
    return `the quote pays ${formatMoney(quote.pay)} for ${formatMoney(quote.target)}, which are not the requested currencies`;
  if (instructedAmount.currency === targetCurrency && !sameMoney(quote.target, instructedAmount))
    return `the quote delivers ${formatMoney(quote.target)}, not ${formatMoney(instructedAmount)}`;
  return undefined;
}

function limitViolation(limits: QuoteLimits, quote: Quote): string | undefined {
  if (limits.maxFee && !atMost(quote.fee, limits.maxFee))
    return `the fee ${formatMoney(quote.fee)} exceeds the limit ${formatMoney(limits.maxFee)}`;
  if (limits.maxPay && !atMost(quote.pay, limits.maxPay))
    return `the payer would pay ${formatMoney(quote.pay)}, which exceeds the limit ${formatMoney(limits.maxPay)}`;
  if (limits.minRate !== undefined && compareDecimals(quote.exchangeRate, limits.minRate) < 0)
    return `the rate ${quote.exchangeRate} is below the limit ${limits.minRate}`;
  return undefined;
}

function balanceProblem(quote: Quote): Reason | undefined {
  if (atMost(quote.pay, quote.available)) return undefined;
  return {
    code: 'INSUFFICIENT_BALANCE',
    message: `the payer would pay ${formatMoney(quote.pay)}, but only ${formatMoney(quote.available)} is available`,
  };
}

/** False for different currencies: a limit in another currency permits nothing. */
function atMost(amount: Money, limit: Money): boolean {
  return amount.currency === limit.currency && compareMoney(amount, limit) <= 0;
}
