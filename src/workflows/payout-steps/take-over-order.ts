/** Three ways to an order: the create answered it, a query found it, a person named it. Each is compared first. */
import { differsFromQuote, notThisPayout } from '../../domain/order-check.ts';
import type { AgreedQuote } from '../../domain/payout.ts';
import type { Doubt } from '../../domain/payout-record.ts';
import type { PayoutOrder, TradeResult } from '../../payments/types.ts';
import { polled } from '../calls.ts';
import type { PayoutLife } from './payout-life.ts';

export function takeOverCreated(life: PayoutLife, order: PayoutOrder, quote: AgreedQuote): void {
  flagDifferences(life, order, quote);
  orderExists(life, order.orderId, order);
}

/** The order exists after all: compare it with what was agreed, then go on as if the create had answered. */
export async function takeOverFound(
  life: PayoutLife,
  trade: TradeResult,
  because: Doubt,
): Promise<undefined> {
  const { record } = life;
  const order = await readOrder(life, trade.orderId);
  record.trade = trade;
  if (order && because === 'earlier-run') {
    // It was created under an earlier run's lock, so this run's quote was never used.
    record.quote = quoteOf(order);
    const problem = notThisPayout(order, life.request, undefined);
    if (problem)
      life.flag('ORDER_DIFFERS_FROM_REQUEST', `the order found differs from the request: ${problem}`);
  } else if (order && record.quote) {
    flagDifferences(life, order, record.quote);
  }
  orderExists(life, trade.orderId, order);
}

function quoteOf(order: PayoutOrder): AgreedQuote | undefined {
  const { lockRateId, exchangeRate, pay, target, fee } = order;
  return lockRateId && exchangeRate ? { lockRateId, exchangeRate, pay, target, fee } : undefined;
}

async function readOrder(life: PayoutLife, orderId: string): Promise<PayoutOrder | undefined> {
  const calls = polled(life.calls, 'create', 'reads the order that was found');
  try {
    return await life.call(() => calls.fetchOrder(life.caller, orderId));
  } catch {
    life.flag(
      'ORDER_NOT_COMPARED',
      'the order was found, but could not be read to compare it with its quote',
    );
    return undefined;
  }
}

/** A person says that the order exists. Believed only when number and amounts match; else why not. */
export async function takeOverNamed(life: PayoutLife, orderId: string): Promise<string | undefined> {
  const order = await readOrder(life, orderId);
  life.unflag('ORDER_NOT_COMPARED');
  if (!order) return `order ${orderId} could not be read from the payments service`;
  const problem = notThisPayout(order, life.request, life.record.quote);
  if (problem) return `order ${orderId} is not this payout: ${problem}`;
  if (life.record.creation.stage !== 'review') return 'the payout is no longer in review';
  orderExists(life, orderId, order);
  return undefined;
}

function flagDifferences(life: PayoutLife, order: PayoutOrder, quote: AgreedQuote): void {
  for (const { code, message } of differsFromQuote(order, quote)) life.flag(code, message);
}

function orderExists(life: PayoutLife, orderId: string, order: PayoutOrder | undefined): void {
  const { record } = life;
  record.order = { orderId, status: order?.status ?? '', target: order?.target };
  record.creation = { stage: 'created' };
  record.createdAtMs = Date.now();
  record.lastConfirmedAtMs = Date.now();
  life.unflag('NEEDS_REVIEW');
}
