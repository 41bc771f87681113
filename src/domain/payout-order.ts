/** Checks that an order belongs to this payout (H54) and has the terms of its quote (H13). */

import { compareDecimals, formatMoney, type Money, sameMoney } from '../contract/money.ts';
import type { AgreedQuote, Attention } from '../contract/payout.ts';
import type { CheckedPayoutRequest } from '../contract/payout-request.ts';
import type { PayoutOrder, TradeResult } from '../contract/provider-records.ts';
import { type Echo, idDiffers, textDiffers } from './provider-text.ts';

/** How the terms of `order` differ from the quote that it was created with; undefined if they match. */
export function quoteMismatch(order: PayoutOrder, quote: AgreedQuote): string | undefined {
  const found = [
    order.lockRateId !== quote.lockRateId &&
      `its lock is ${order.lockRateId ?? 'absent'}, not ${quote.lockRateId}`,
    ratesDiffer(order.exchangeRate, quote.exchangeRate) &&
      `its rate is ${order.exchangeRate}, not ${quote.exchangeRate}`,
    moneyMismatch('the payer pays', order.pay, quote.pay),
    moneyMismatch('the receiver gets', order.target, quote.target),
    moneyMismatch('the fee is', order.fee, quote.fee),
  ].filter((difference) => typeof difference === 'string');
  return found.length > 0 ? found.join('; ') : undefined;
}

/**
 * Why `order` isn't the order of this payout, or undefined if what every returned field shows matches the request. An
 * absent field proves nothing either way. The message contains no personal data.
 */
export function orderMismatch(order: PayoutOrder, request: CheckedPayoutRequest, echo: Echo) {
  return identityMismatch(order, request, echo) ?? beneficiaryMismatch(order, request, echo);
}

/** Doesn't name the other id: a caller could learn it by naming another's order. */
export const OTHER_ID = 'its partnerOrderId is another one';

/** The mismatches that an operator's decision can't override: `partnerOrderId`, currencies and amount. */
export function identityMismatch(order: PayoutOrder, request: CheckedPayoutRequest, echo: Echo) {
  const { partnerOrderId, instructedAmount, originCurrency, targetCurrency } = request;
  if (order.partnerOrderId !== undefined && idDiffers(echo, order.partnerOrderId, partnerOrderId))
    return OTHER_ID;
  return (
    currencyMismatch('origin currency', order.originCurrency, originCurrency) ??
    currencyMismatch('target currency', order.targetCurrency, targetCurrency) ??
    currencyMismatch('payer currency', order.pay.currency, originCurrency) ??
    currencyMismatch('receiver currency', order.target.currency, targetCurrency) ??
    // The instructed amount is the amount to be received (spec: Payout creation request).
    moneyMismatch('the receiver gets', order.target, instructedAmount)
  );
}

function beneficiaryMismatch(order: PayoutOrder, { receiver }: CheckedPayoutRequest, echo: Echo) {
  const different = (['bankAccountNumber', 'bankAccountName', 'bankName'] as const).filter((field) => {
    const found = order[field];
    return found !== undefined && textDiffers(echo, found, receiver[field]);
  });
  return different.length > 0 ? `its beneficiary has a different ${different.join(' and ')}` : undefined;
}

function currencyMismatch(what: string, found: string | undefined, expected: string): string | undefined {
  return found === undefined || found === expected ? undefined : `its ${what} is ${found}, not ${expected}`;
}

/** The trade query takes precedence over the order's status; a contradiction is flagged (H21). */
export function statusContradiction(orderStatus: string | undefined, trade: TradeResult): Attention[] {
  const { status } = trade;
  const contradicts =
    (orderStatus === 'fail' && (status === 'SUCCESS' || status === 'PARTIAL_SUCCESS')) ||
    (orderStatus === 'success' && status === 'FAILED');
  const message = `the order query said ${orderStatus}, the trade query says ${status}; the trade query takes precedence`;
  return contradicts ? [{ code: 'PROVIDER_CONTRADICTS_ITSELF', message }] : [];
}

/** A rate of zero is none: the money is compared anyway. */
function ratesDiffer(found = '0', expected: string): boolean {
  return [found, expected].every((rate) => /[1-9]/.test(rate)) && compareDecimals(found, expected) !== 0;
}

function moneyMismatch(what: string, found: Money, expected: Money): string | undefined {
  if (sameMoney(found, expected)) return undefined;
  return `${what} ${formatMoney(found)}, not ${formatMoney(expected)}`;
}
