/** How the order stands, by one trade query: what is known after it, and what an operator should look at. */
import type { TradeAnswer } from '../../activities/shared/types.ts';
import { orderMismatch, statusContradiction } from '../../domain/order-check.ts';
import type { Attention } from '../../domain/payout.ts';
import type { KnownOrder } from '../../domain/payout-record.ts';
import type { TradeResult } from '../../domain/provider-records.ts';
import { finalStatus, tradeAttention } from '../../domain/trade-verdict.ts';
import { causeOf, refusalIn } from '../shared/call-failures.ts';
import { polled, type Urgency } from '../shared/calls.ts';
import { isOrderReadable, readOrder } from './adopt-order.ts';
import type { PayoutRun } from './run.ts';
import { enterReview, noteUnknownSend } from './stages.ts';
import { type LearnedBy, query } from './wait-to-ask.ts';

/** Unanswered queries in a row that pass as a hiccup. */
const UNANSWERED_BEFORE_FLAG = 3;
const TRADE_FLAGS: Attention['code'][] = [
  'AWAITING_MATERIAL',
  'AUDIT_REJECTED',
  'UNKNOWN_AUDIT_STATUS',
  'UNKNOWN_STATUS',
  'PROVIDER_CONTRADICTS_ITSELF',
];

/** The order that the payout follows now, its trade, and the detail where it was to be had. */
export type KnownTrade = TradeAnswer & { order: KnownOrder; trade: TradeResult };

/** Undefined: no answer, or none that helps; the poll timer asks again. */
export async function queryTrade(
  run: PayoutRun,
  order: KnownOrder,
  because: LearnedBy,
): Promise<KnownTrade | undefined> {
  const fetch = (urgency: Urgency) => () => {
    const calls = polled(run.calls, urgency, `how is the order, and which payments were made? (${because})`);
    return calls.fetchTradeWithDetail(run.caller, run.tradeKey);
  };
  let answer: TradeAnswer;
  try {
    answer = await (because === 'notification'
      ? query(run, fetch('ending'))
      : query(run, fetch('poll'), fetch('latePoll')));
  } catch (error) {
    return unanswered(run, error);
  }
  const { trade, detail } = answer;
  if (trade === null) return notFound(run, order);
  const followed = await orderOfTrade(run, order, trade);
  if (!followed) return namesAnother(run, order, trade);
  run.record.missingSinceMs = undefined;
  learned(run, followed, trade);
  return { order: followed, trade, detail };
}

/**
 * Undefined: the trade query names another order than the one that the payout follows, and it is not this payout's. One
 * that is this payout's in every field (H54) replaces the order (H21): there may be two.
 */
async function orderOfTrade(
  run: PayoutRun,
  known: KnownOrder,
  trade: TradeResult,
): Promise<KnownOrder | undefined> {
  const { record, request } = run;
  if (known.orderId === trade.orderId) {
    if (!record.orderReplaced) run.unflag('SEVERAL_ORDERS');
    return known;
  }
  run.flag(
    'SEVERAL_ORDERS',
    `the trade query names order ${trade.orderId}, known was ${known.orderId}: there may be two`,
  );
  const found = await readOrder(run, trade.orderId);
  if (!found || orderMismatch(found, request) !== undefined) return undefined;
  const { orderId, status, target } = found;
  record.order = { orderId, status, target, quote: known.quote };
  record.orderReplaced = true;
  return record.order;
}

function learned(run: PayoutRun, order: KnownOrder, trade: TradeResult): void {
  const { record } = run;
  record.trade = trade;
  record.unanswered = 0;
  record.lastConfirmedAtMs = Date.now();
  run.unflag('PROVIDER_NOT_ANSWERING', 'ORDER_NOT_FOUND', 'STUCK', ...TRADE_FLAGS);
  for (const { code, message } of [...tradeAttention(trade), ...statusContradiction(order.status, trade)])
    run.flag(code, message);
  if (finalStatus(trade) === undefined) flagWhenStuck(run, trade);
}

function flagWhenStuck(run: PayoutRun, trade: TradeResult): void {
  const since = run.record.createdAtMs;
  if (Date.now() - since < run.settings.stuckAfterMs) return;
  run.flag('STUCK', `still ${trade.status} since ${new Date(since).toISOString()}`);
}

function unanswered(run: PayoutRun, error: unknown): undefined {
  const { record } = run;
  record.unanswered += 1;
  if (refusalIn(error) === undefined && record.unanswered < UNANSWERED_BEFORE_FLAG) return;
  run.flag(
    'PROVIDER_NOT_ANSWERING',
    `${record.unanswered} queries in a row brought no usable answer (${causeOf(error)})`,
  );
}

/** Right after the create the provider's reads may lag; later, an order that was created should be known. */
async function notFound(run: PayoutRun, { orderId }: KnownOrder): Promise<undefined> {
  const { record, settings } = run;
  record.unanswered += 1;
  const isMissing = missedForAWindow(run);
  if (Date.now() - record.createdAtMs <= settings.confirmationWindowMs) return;
  const message = 'the order was created, but the trade query says that it does not exist';
  run.flag('ORDER_NOT_FOUND', message);
  if (!isMissing) return;
  if (await isOrderReadable(run)) {
    run.flag('ORDER_NOT_FOUND', `${message}; the order query knows it`);
    return;
  }
  noteUnknownSend(run, 'unanswered');
  enterReview(run, `order ${orderId} was created, and the provider does not know it (any more)`);
}

/** Another order, again and again, that is not this payout's or cannot be read: a person decides (H54). */
async function namesAnother(run: PayoutRun, known: KnownOrder, { orderId }: TradeResult): Promise<undefined> {
  if (!missedForAWindow(run)) return;
  noteUnknownSend(run, 'unanswered');
  const why = `the trade query names order ${orderId} and not ${known.orderId}, which was created`;
  enterReview(run, why, orderId);
}

function missedForAWindow({ record, settings }: PayoutRun): boolean {
  record.missingSinceMs ??= Date.now();
  return Date.now() - record.missingSinceMs > settings.confirmationWindowMs;
}
