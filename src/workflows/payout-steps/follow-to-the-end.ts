/** From the created order to its end: ask at a notification or a poll, believe only what agrees with itself. */
import { ActivityFailure, ApplicationFailure } from '@temporalio/workflow';
import type { TradeAnswer } from '../../activities/types.ts';
import { contradiction } from '../../domain/order-check.ts';
import type { PayoutResult } from '../../domain/payout.ts';
import { settledResult } from '../../domain/settled-result.ts';
import {
  disagreement,
  type FinalStatus,
  finalStatus,
  isDetailMissing,
  tradeAttention,
} from '../../domain/trade-verdict.ts';
import type { TradeDetail, TradeResult } from '../../payments/types.ts';
import { polled, type Urgency } from '../calls.ts';
import type { PayoutLife } from './payout-life.ts';
import { asking, type LearnedBy, waitToAsk } from './wait-to-ask.ts';

/** Disagreements in a row that pass as lag of the service's reads. */
const PATIENCE = 3;
/** Unanswered queries in a row that pass as a hiccup. */
const UNANSWERED_BEFORE_FLAG = 3;
/** Polls spread out by up to this part, so that payouts started together do not ask together for ever. */
const JITTER = 0.2;

const TRADE_FLAGS = [
  'AWAITING_MATERIAL',
  'AUDIT_REJECTED',
  'UNKNOWN_AUDIT_STATUS',
  'UNKNOWN_STATUS',
  'SERVICE_CONTRADICTS_ITSELF',
];

/** Returns when the service has said how the order ended and every sum agrees. No time limit: never a guess. */
export async function followToTheEnd(life: PayoutLife): Promise<PayoutResult> {
  life.enter('PROCESSING');
  for (;;) {
    const learnedBy = await waitToAsk(life, nextPollMs(life), 'polls, should no notification come');
    const answer = await askTrade(life, learnedBy);
    const status = answer && finalStatus(answer.trade);
    if (answer && status) {
      life.enter('FETCHING_DETAIL');
      const result = await believe(life, answer, status, learnedBy);
      if (result) return result;
    }
    await life.continueAsNewWhenLong();
  }
}

function nextPollMs(life: PayoutLife): number {
  const { record, settings } = life;
  // A status that is final already is worth asking about soon; the first poll of a new order is not.
  const first = record.disagreements > 0 ? 1_000 : settings.pollFirstMs;
  const age = record.disagreements > 0 ? record.disagreements - 1 : record.asks;
  const wait = Math.min(settings.pollMaxMs, first * 2 ** Math.min(age, 30));
  return Math.round(wait * (1 + JITTER * (Math.random() - 0.5)));
}

type Known = TradeAnswer & { trade: TradeResult };

async function askTrade(life: PayoutLife, because: LearnedBy): Promise<Known | undefined> {
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
  if (Date.now() - record.createdAtMs > settings.settleWindowMs)
    life.flag('ORDER_NOT_FOUND', 'the service says that it does not know the order that it created');
}

/** Reads the payments and compares; undefined when something does not agree, and it is asked again. */
async function believe(
  life: PayoutLife,
  { trade, detail: known }: Known,
  status: FinalStatus,
  learnedBy: LearnedBy,
): Promise<PayoutResult | undefined> {
  const detail = known === undefined ? await askDetail(life) : known;
  const why = detail
    ? disagreement(trade, detail, life.record.order?.target)
    : 'its payments could not be read';
  if (detail && why === undefined) {
    life.unflag('DETAIL_MISSING', 'DETAIL_DISAGREES');
    return settledResult(life.request.partnerOrderId, {
      status,
      trade,
      detail,
      quote: life.record.quote,
      learnedBy,
    });
  }
  life.record.disagreements += 1;
  if (life.record.disagreements >= PATIENCE)
    life.flag(!detail || isDetailMissing(trade, detail) ? 'DETAIL_MISSING' : 'DETAIL_DISAGREES', why ?? '');
  return undefined;
}

async function askDetail(life: PayoutLife): Promise<TradeDetail | null> {
  const calls = polled(life.calls, 'ending', 'which payments were made?');
  try {
    return await life.call(() => calls.fetchTradeDetail(life.caller, life.tradeKey));
  } catch {
    return null;
  }
}
