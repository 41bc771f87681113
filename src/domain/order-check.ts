/** Whether an order is what was agreed: the lock may have been ignored, expired or replaced on the way. */
import type { PayoutOrder, TradeResult } from '../payments/types.ts';
import { compareDecimals, type Money, sameMoney } from './money.ts';
import type { AgreedQuote, Attention, CheckedPayoutRequest } from './payout.ts';

/** How `order` differs from the quote it was created with; empty when it does not. */
export function differsFromQuote(order: PayoutOrder, quote: AgreedQuote): Attention[] {
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

/** Why `order` cannot be the order of this payout, or undefined when number, currencies and amounts match. */
export function notThisPayout(
  order: PayoutOrder,
  request: CheckedPayoutRequest,
  quote: AgreedQuote | undefined,
): string | undefined {
  if (order.partnerOrderId !== request.partnerOrderId)
    return `its order number is ${order.partnerOrderId ?? 'absent'}, not ${request.partnerOrderId}`;
  const { instructedAmount } = request;
  if (instructedAmount.currency === request.targetCurrency && !sameMoney(order.target, instructedAmount))
    return differs('the receiver gets', order.target, instructedAmount) || undefined;
  if (quote && !sameMoney(order.target, quote.target))
    return differs('the receiver gets', order.target, quote.target) || undefined;
  return undefined;
}

/** The trade query wins over the order's own status; a contradiction is flagged. */
export function contradiction(orderStatus: string | undefined, trade: TradeResult): Attention[] {
  const against =
    (orderStatus === 'fail' && (trade.status === 'SUCCESS' || trade.status === 'PARTIAL_SUCCESS')) ||
    (orderStatus === 'success' && trade.status === 'FAILED');
  if (!against) return [];
  return [
    {
      code: 'SERVICE_CONTRADICTS_ITSELF',
      message: `the order query said ${orderStatus}, the trade query says ${trade.status}; the trade query counts`,
    },
  ];
}

function differs(what: string, found: Money, expected: Money): string | false {
  if (sameMoney(found, expected)) return false;
  return `${what} ${found.amount} ${found.currency}, agreed was ${expected.amount} ${expected.currency}`;
}
