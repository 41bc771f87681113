/** How the order stands, by one trade query: what is known after it, and what an operator should look at. */
import type { TradeAnswer } from '../../activities/shared/types.ts';
import { orderMismatch, statusContradiction } from '../../domain/order-check.ts';
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
const TRADE_FLAGS = [
  'AWAITING_MATERIAL',
  'AUDIT_REJECTED',
  'UNKNOWN_AUDIT_STATUS',
  'UNKNOWN_STATUS',
  'PROVIDER_CONTRADICTS_ITSELF',
];

/** An order that exists; its detail where it was to be had. */
export type KnownTrade = TradeAnswer & { trade: TradeResult };

/** Undefined: no answer, or none that helps; the poll timer asks again. */
export async function queryTrade(run: PayoutRun, because: LearnedBy): Promise<KnownTrade | undefined> {
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
  if (trade === null) return notFound(run);
  if (!(await isOurOrder(run, trade))) return namesAnother(run, trade);
  run.record.missingSinceMs = undefined;
  learned(run, trade);
  return { trade, detail };
}

/**
 * The trade query names another order than the one that the payout follows: there may be two. The trade query wins
 * (H21), but only with an order that is this payout's in every field (H54).
 */
async function isOurOrder(run: PayoutRun, trade: TradeResult): Promise<boolean> {
  const { record, request } = run;
  const known = record.order?.orderId;
  if (known === trade.orderId) {
    if (!record.orderReplaced) run.unflag('SEVERAL_ORDERS');
    return true;
  }
  run.flag(
    'SEVERAL_ORDERS',
    `the trade query names order ${trade.orderId}, known was ${known ?? 'none'}: there may be two`,
  );
  const order = await readOrder(run, trade.orderId);
  if (!order || orderMismatch(order, request) !== undefined) return false;
  record.order = { orderId: order.orderId, status: order.status, target: order.target, quote: record.quote };
  record.orderReplaced = true;
  return true;
}

function learned(run: PayoutRun, trade: TradeResult): void {
  const { record } = run;
  record.trade = trade;
  record.unanswered = 0;
  record.lastConfirmedAtMs = Date.now();
  run.unflag('PROVIDER_NOT_ANSWERING', 'ORDER_NOT_FOUND', 'STUCK', ...TRADE_FLAGS);
  for (const { code, message } of [
    ...tradeAttention(trade),
    ...statusContradiction(record.order?.status, trade),
  ])
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
async function notFound(run: PayoutRun): Promise<undefined> {
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
  enterReview(
    run,
    `order ${record.order?.orderId} was created, and the provider does not know it (any more)`,
  );
}

/** Another order, again and again, that is not this payout's or cannot be read: a person decides (H54). */
async function namesAnother(run: PayoutRun, { orderId }: TradeResult): Promise<undefined> {
  if (!missedForAWindow(run)) return;
  noteUnknownSend(run, 'unanswered');
  const known = run.record.order?.orderId;
  enterReview(run, `the trade query names order ${orderId} and not ${known}, which was created`, orderId);
}

function missedForAWindow({ record, settings }: PayoutRun): boolean {
  record.missingSinceMs ??= Date.now();
  return Date.now() - record.missingSinceMs > settings.confirmationWindowMs;
}
