/** Whether a quote may be accepted: asked for, affordable, within the caller's limits. */

import { compareDecimals, compareMoney, type Money, sameMoney } from './money.ts';
import type { AgreedQuote, CheckedPayoutRequest, QuoteLimits, Reason } from './payout.ts';
import type { Quote } from './provider-records.ts';

/** Undefined when `quote` may be accepted for `request`, else why not. */
export function quoteProblem(request: CheckedPayoutRequest, quote: Quote): Reason | undefined {
  const message = otherThanAsked(request, quote) ?? outsideLimits(request.limits ?? {}, quote);
  if (message !== undefined) return { code: 'QUOTE_OUT_OF_LIMITS', message };
  return balanceProblem(quote);
}

/** The part of a quote that the payout is held to. */
export function agreedQuote(quote: Quote): AgreedQuote {
  const { lockRateId, exchangeRate, pay, target, fee } = quote;
  return { lockRateId, exchangeRate, pay, target, fee };
}

/**
 * Whether a quote asked for after an approval may stand in for the approved one: the caller's
 * limits bound it where they bound the price at all; else it must not cost more than what was approved.
 */
export function withinApproval(
  limits: QuoteLimits | undefined,
  approved: AgreedQuote,
  quote: AgreedQuote,
): boolean {
  if (limits?.maxPay !== undefined || limits?.minRate !== undefined) return true;
  return noMoreThan(quote.pay, approved.pay) && noMoreThan(approved.target, quote.target);
}

function otherThanAsked(request: CheckedPayoutRequest, quote: Quote): string | undefined {
  const { instructedAmount, originCurrency, targetCurrency } = request;
  if (quote.originCurrency !== originCurrency || quote.targetCurrency !== targetCurrency)
    return `the quote is for ${quote.originCurrency} to ${quote.targetCurrency}, asked was ${originCurrency} to ${targetCurrency}`;
  if (quote.pay.currency !== originCurrency || quote.target.currency !== targetCurrency)
    return `the quote pays ${show(quote.pay)} for ${show(quote.target)}: other currencies than asked`;
  if (instructedAmount.currency === targetCurrency && !sameMoney(quote.target, instructedAmount))
    return `the quote delivers ${show(quote.target)}, asked was ${show(instructedAmount)}`;
  return undefined;
}

function outsideLimits(limits: QuoteLimits, quote: Quote): string | undefined {
  if (limits.maxFee && !noMoreThan(quote.fee, limits.maxFee))
    return `the fee ${show(quote.fee)} is over the limit ${show(limits.maxFee)}`;
  if (limits.maxPay && !noMoreThan(quote.pay, limits.maxPay))
    return `the payer would pay ${show(quote.pay)}, over the limit ${show(limits.maxPay)}`;
  if (limits.minRate !== undefined && compareDecimals(quote.exchangeRate, limits.minRate) < 0)
    return `the rate ${quote.exchangeRate} is under the limit ${limits.minRate}`;
  return undefined;
}

function balanceProblem(quote: Quote): Reason | undefined {
  if (noMoreThan(quote.pay, quote.available)) return undefined;
  return {
    code: 'INSUFFICIENT_BALANCE',
    message: `the payer would pay ${show(quote.pay)} and has ${show(quote.available)}`,
  };
}

/** Amounts of different currencies never pass: a limit in another currency is no permission. */
function noMoreThan(amount: Money, limit: Money): boolean {
  return amount.currency === limit.currency && compareMoney(amount, limit) <= 0;
}

function show(money: Money): string {
  return `${money.amount} ${money.currency}`;
}
