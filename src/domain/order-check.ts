/** Whether an order is the one that was asked for: for this payout (H54), and under the terms of its quote (H13). */

import { compareDecimals, type Money, sameMoney } from './money.ts';
import type { AgreedQuote, Attention, CheckedPayoutRequest } from './payout.ts';
import type { PayoutOrder, TradeResult } from './provider-records.ts';

/** How the terms of `order` differ from the quote that it was created with; empty when they do not. */
export function quoteMismatches(order: PayoutOrder, quote: AgreedQuote): Attention[] {
  const found = [
    order.lockRateId !== quote.lockRateId &&
      `its lock is ${order.lockRateId ?? 'absent'}, sent was ${quote.lockRateId}`,
    order.exchangeRate !== undefined &&
      compareDecimals(order.exchangeRate, quote.exchangeRate) !== 0 &&
      `its rate is ${order.exchangeRate}, quoted was ${quote.exchangeRate}`,
    differs('the payer pays', order.pay, quote.pay),
    differs('the receiver gets', order.target, quote.target),
    differs('the fee is', order.fee, quote.fee),
  ].filter((difference) => typeof difference === 'string');
  if (found.length === 0) return [];
  return [
    { code: 'ORDER_DIFFERS_FROM_QUOTE', message: `the order differs from its quote: ${found.join('; ')}` },
  ];
}

/**
 * Why `order` is not the order of this payout, or undefined when every field that the provider returns matches the
 * request. A field that is absent proves nothing either way. The words name no personal data.
 */
export function orderMismatch(order: PayoutOrder, request: CheckedPayoutRequest): string | undefined {
  return identityMismatch(order, request) ?? beneficiaryMismatch(order, request);
}

/** What a person's decision cannot override: the partner's order id, the currencies and the amount. */
export function identityMismatch(order: PayoutOrder, request: CheckedPayoutRequest): string | undefined {
  const { partnerOrderId, instructedAmount, originCurrency, targetCurrency } = request;
  if (order.partnerOrderId !== undefined && order.partnerOrderId !== partnerOrderId)
    return `its partner order id is ${order.partnerOrderId}, not ${partnerOrderId}`;
  return (
    otherCurrency('origin currency', order.originCurrency, originCurrency) ??
    otherCurrency('target currency', order.targetCurrency, targetCurrency) ??
    otherCurrency('payer pays in', order.pay.currency, originCurrency) ??
    otherCurrency('receiver gets', order.target.currency, targetCurrency) ??
    otherAmount(order, instructedAmount, targetCurrency)
  );
}

/** The instructed amount is the amount to be received (spec: Payout creation request). */
function otherAmount(order: PayoutOrder, instructed: Money, targetCurrency: string): string | undefined {
  if (instructed.currency !== targetCurrency) return undefined;
  return differs('the receiver gets', order.target, instructed) || undefined;
}

function beneficiaryMismatch(order: PayoutOrder, { receiver }: CheckedPayoutRequest): string | undefined {
  const { bankAccountNumber, bankAccountName, bankName } = order;
  const different = [
    otherText(bankAccountNumber, receiver.bankAccountNumber) && 'account number',
    otherText(bankAccountName, receiver.bankAccountName) && 'account name',
    otherText(bankName, receiver.bankName) && 'bank name',
  ].filter((field) => typeof field === 'string');
  return different.length === 0 ? undefined : `its beneficiary has another ${different.join(' and ')}`;
}

/** Spaces and letter case are formatting; anything else is another text. */
function otherText(found: string | undefined, asked: string): boolean {
  return found !== undefined && plain(found) !== plain(asked);
}

function plain(text: string): string {
  return text.normalize('NFKC').replace(/\s+/g, '').toLowerCase();
}

function otherCurrency(what: string, found: string | undefined, asked: string): string | undefined {
  return found === undefined || found === asked ? undefined : `its ${what} is ${found}, not ${asked}`;
}

/** The trade query wins over the order's own status; a contradiction is flagged (H21). */
export function statusContradiction(orderStatus: string | undefined, trade: TradeResult): Attention[] {
  const against =
    (orderStatus === 'fail' && (trade.status === 'SUCCESS' || trade.status === 'PARTIAL_SUCCESS')) ||
    (orderStatus === 'success' && trade.status === 'FAILED');
  if (!against) return [];
  return [
    {
      code: 'PROVIDER_CONTRADICTS_ITSELF',
      message: `the order query said ${orderStatus}, the trade query says ${trade.status}; the trade query counts`,
    },
  ];
}

function differs(what: string, found: Money, expected: Money): string | false {
  if (sameMoney(found, expected)) return false;
  return `${what} ${found.amount} ${found.currency}, agreed was ${expected.amount} ${expected.currency}`;
}
