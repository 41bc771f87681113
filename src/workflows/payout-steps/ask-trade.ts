/** How the order stands, by one trade query: what is known after it, and what an operator should look at. */
import { ActivityFailure, ApplicationFailure } from '@temporalio/workflow';
import type { TradeAnswer } from '../../activities/types.ts';
import { contradiction } from '../../domain/order-check.ts';
import { finalStatus, tradeAttention } from '../../domain/trade-verdict.ts';
import type { TradeResult } from '../../payments/types.ts';
import { polled, type Urgency } from '../calls.ts';
import type { PayoutLife } from './payout-life.ts';
import { asking, type LearnedBy } from './wait-to-ask.ts';

/** Unanswered queries in a row that pass as a hiccup. */
const UNANSWERED_BEFORE_FLAG = 3;
const TRADE_FLAGS = [
  'AWAITING_MATERIAL',
  'AUDIT_REJECTED',
  'UNKNOWN_AUDIT_STATUS',
  'UNKNOWN_STATUS',
  'SERVICE_CONTRADICTS_ITSELF',
];

/** An order that exists; its detail where it was to be had. */
export type KnownTrade = TradeAnswer & { trade: TradeResult };

/** Undefined: no answer, or none that helps; the poll timer asks again. */
export async function askTrade(life: PayoutLife, because: LearnedBy): Promise<KnownTrade | undefined> {
  const ask = (urgency: Urgency) => () => fetchTrade(life, urgency, because);
  let answer: TradeAnswer;
  try {
    answer = await (because === 'notification'
      ? asking(life, ask('ending'))
      : asking(life, ask('poll'), ask('latePoll')));
  } catch (error) {
    return unanswered(life, error);
  }
  const { trade, detail } = answer;
  if (trade === null) return notFound(life);
  learned(life, trade);
  return { trade, detail };
}

/** Older runs ask for the detail on its own. */
async function fetchTrade(life: PayoutLife, urgency: Urgency, because: LearnedBy): Promise<TradeAnswer> {
  const { caller, tradeKey } = life;
  const { detailWithResult } = life.settings;
  const what = detailWithResult ? 'how is the order, and which payments were made?' : 'how is the order?';
  const calls = polled(life.calls, urgency, `${what} (${because})`);
  if (detailWithResult) return calls.fetchTradeWithDetail(caller, tradeKey);
  return { trade: await calls.fetchTradeResult(caller, tradeKey) };
}

function learned(life: PayoutLife, trade: TradeResult): void {
  const { record } = life;
  record.trade = trade;
  record.unanswered = 0;
  record.lastConfirmedAtMs = Date.now();
  life.unflag('SERVICE_NOT_ANSWERING', 'ORDER_NOT_FOUND', 'STUCK', ...TRADE_FLAGS);
  const seen = [
    ...tradeAttention(trade),
    ...contradiction(record.order?.status, trade),
    ...wrongOrder(life, trade),
  ];
  for (const { code, message } of seen) life.flag(code, message);
  if (finalStatus(trade) === undefined) flagWhenStuck(life, trade);
}

function wrongOrder(life: PayoutLife, trade: TradeResult) {
  const expected = life.record.order?.orderId;
  if (expected === undefined || expected === trade.orderId) return [];
  const message = `the trade query names order ${trade.orderId}, the create answered ${expected}: there may be two`;
  return [{ code: 'SEVERAL_ORDERS', message }];
}

function flagWhenStuck(life: PayoutLife, trade: TradeResult): void {
  const since = life.record.createdAtMs;
  if (Date.now() - since < life.settings.stuckAfterMs) return;
  life.flag('STUCK', `still ${trade.status} since ${new Date(since).toISOString()}`);
}

function unanswered(life: PayoutLife, error: unknown): undefined {
  const { record } = life;
  record.unanswered += 1;
  if (record.unanswered < UNANSWERED_BEFORE_FLAG) return;
  const cause = error instanceof ActivityFailure ? error.cause : undefined;
  const why = cause instanceof ApplicationFailure ? `${cause.type}: ${cause.message}` : 'no answer in time';
  life.flag('SERVICE_NOT_ANSWERING', `${record.unanswered} queries in a row brought no answer (${why})`);
}

function notFound(life: PayoutLife): undefined {
  const { record, settings } = life;
  record.unanswered += 1;
  // Right after the create the service's reads may lag; later, an order that was confirmed should be known.
  if (Date.now() - record.createdAtMs > settings.confirmationWindowMs)
    life.flag('ORDER_NOT_FOUND', 'the service says that it does not know the order that it created');
}
