/**
 * Tracks the created order to its final status: queries the trade after a notification or when the poll timer fires, records
 * the responses, and flags what needs attention. Result and detail must agree before the outcome is reported.
 */
import type { TradeLookup } from '../../activities/shared/provider-activities.ts';
import type { Attention, PayoutResult } from '../../contract/payout.ts';
import type { TradeResult } from '../../contract/provider-records.ts';
import { statusContradiction } from '../../domain/payout-order.ts';
import { isTradeOf, type KnownOrder } from '../../domain/payout-record.ts';
import {
  disagreement,
  type FinalStatus,
  finalAttention,
  finalStatus,
  isDetailMissing,
  tradeAttention,
  verifiedResult,
} from '../../domain/payout-trade.ts';
import { type CallSettings, causeOf, polled, refusalIn, type Urgency } from '../shared/calls.ts';
import { comparedQuote, noteFound, readOwnOrder } from './adopt-order.ts';
import { type LearnedBy, type PayoutRun, spread } from './run.ts';
import { notePoll } from './show-state.ts';

type FinalTrade = KnownTrade & { status: FinalStatus; learnedBy: LearnedBy };

/**
 * Returns the trade once its status is final; there is no time limit. Undefined if the provider no longer knows the
 * order.
 */
export async function trackToFinal(run: PayoutRun, created: KnownOrder): Promise<FinalTrade | undefined> {
  const { record } = run;
  let order = created;
  while (record.creation.stage === 'created') {
    const learnedBy = await run.waitForNotificationOrPoll(
      nextPollMs(run),
      'polls if no notification arrives',
    );
    const answer = await queryTrade(run, order, learnedBy);
    const status = answer && finalStatus(answer.trade);
    if (answer && status) return { ...answer, status, learnedBy };
    if (answer) order = answer.order;
    // Only disagreements in a row shorten the time between polls.
    record.disagreements = 0;
    await run.continueAsNewWhenDue();
  }
  return undefined;
}

/** Final trades that could not be verified are polled again soon. */
function nextPollMs({ record, settings }: PayoutRun): number {
  const { disagreements } = record;
  const first = disagreements > 0 ? 1_000 : settings.pollFirstMs;
  const age = disagreements > 0 ? disagreements - 1 : record.queries - record.queriesBeforeOrder;
  return spread(Math.min(settings.pollMaxMs, first * 2 ** Math.min(age, 30)));
}

/** Fewer queries in a row without a response are not flagged. */
const UNANSWERED_BEFORE_FLAG = 3;
const TRADE_FLAGS: Attention['code'][] = [
  'AWAITING_MATERIAL',
  'AUDIT_REJECTED',
  'UNKNOWN_AUDIT_STATUS',
  'UNKNOWN_STATUS',
  'PROVIDER_CONTRADICTS_ITSELF',
];

/** The order that the payout tracks, its trade, and the detail if it was fetched. */
type KnownTrade = TradeLookup & { order: KnownOrder; trade: TradeResult };

/** Undefined if there was no usable response: the poll timer leads to the next query. */
async function queryTrade(
  run: PayoutRun,
  order: KnownOrder,
  because: LearnedBy,
): Promise<KnownTrade | undefined> {
  const summary = `queries the trade and its detail (${because})`;
  const queryWith = (urgency: Urgency) => (calls: CallSettings) =>
    polled(calls, urgency, summary).fetchTradeWithDetail(run.principal, run.tradeKey);
  notePoll(run, because);
  let answer: TradeLookup;
  // The response may reach the workflow late, so it counts from the time of its query.
  const queriedAtMs = Date.now();
  try {
    answer = await (because === 'notification'
      ? run.query(queryWith('ending'))
      : run.query(queryWith('poll'), queryWith('latePoll')));
  } catch (error) {
    const { record } = run;
    record.unanswered += 1;
    if (refusalIn(error) !== undefined || record.unanswered >= UNANSWERED_BEFORE_FLAG)
      run.flag(
        'PROVIDER_NOT_ANSWERING',
        `${record.unanswered} queries in a row brought no usable response (${causeOf(error)})`,
      );
    return undefined;
  }
  const { trade, detail } = answer;
  if (!trade || !isTradeOf(order, trade, run.settings.tradeOrderId)) run.record.missingSinceMs ??= Date.now();
  if (trade === null) return notFound(run, order, queriedAtMs);
  const tracked = await orderOfTrade(run, order, trade);
  if (!tracked) {
    // The trade query keeps naming an order that is not this payout's or cannot be read: a person decides (H54).
    if (isMissingForAWindow(run, queriedAtMs))
      reviewMissing(
        run,
        `the trade query names order ${trade.orderId} and not ${order.orderId}, which was created`,
      );
    return undefined;
  }
  recordTrade(run, tracked, trade, queriedAtMs);
  return { order: tracked, trade, detail };
}

/**
 * The order that the trade query names. If it is not the tracked order but matches the request in every field (H54), it
 * replaces the tracked one, and there may be two orders (H21). Undefined if it does not match.
 */
async function orderOfTrade(
  run: PayoutRun,
  known: KnownOrder,
  trade: TradeResult,
): Promise<KnownOrder | undefined> {
  const { record, settings } = run;
  if (isTradeOf(known, trade, settings.tradeOrderId)) {
    if (!record.orderReplaced) run.unflag('SEVERAL_ORDERS');
    if (settings.tradeOrderId === 'own') known.tradeOrderId = trade.orderId;
    return known;
  }
  run.flag(
    'SEVERAL_ORDERS',
    `the trade query names order ${trade.orderId} instead of ${known.orderId}: there may be two orders`,
  );
  noteFound(run, trade.orderId);
  const found = await readOwnOrder(run, trade.orderId);
  if (!found) return undefined;
  const { orderId, status, target } = found;
  noteFound(run, known.orderId);
  record.order = { orderId, status, target, quote: comparedQuote(run, found) };
  record.foundOrders = record.foundOrders.filter((one) => one.orderId !== orderId);
  record.orderReplaced = true;
  return record.order;
}

function recordTrade(run: PayoutRun, order: KnownOrder, trade: TradeResult, queriedAtMs: number): void {
  const { record, settings } = run;
  record.missingSinceMs = undefined;
  record.trade = trade;
  record.unanswered = 0;
  record.lastConfirmedAtMs = queriedAtMs;
  run.unflag('PROVIDER_NOT_ANSWERING', 'ORDER_NOT_FOUND', 'ORDER_OVERDUE', ...TRADE_FLAGS);
  for (const { code, message } of [...tradeAttention(trade), ...statusContradiction(order.status, trade)])
    run.flag(code, message);
  const sinceMs = record.createdAtMs;
  if (finalStatus(trade) === undefined && queriedAtMs - sinceMs >= settings.overdueAfterMs)
    run.flag('ORDER_OVERDUE', `still ${trade.status} since ${new Date(sinceMs).toISOString()}`);
}

/** Right after the create call, the provider's reads may lag. Later, the provider should know the order. */
async function notFound(run: PayoutRun, { orderId }: KnownOrder, queriedAtMs: number): Promise<undefined> {
  const { record, settings } = run;
  record.unanswered = 0;
  run.unflag('PROVIDER_NOT_ANSWERING');
  const isMissing = isMissingForAWindow(run, queriedAtMs);
  if (queriedAtMs - record.createdAtMs <= settings.confirmationWindowMs) return;
  const message = 'the order was created, but the trade query says that it does not exist';
  run.flag('ORDER_NOT_FOUND', message);
  if (!isMissing) return;
  if (await readOwnOrder(run, orderId))
    run.flag('ORDER_NOT_FOUND', `${message}; the order query knows it: check the clientId`);
  else reviewMissing(run, `order ${orderId} was created, but the provider does not know it`);
}

function reviewMissing(run: PayoutRun, why: string): void {
  run.noteUnknownSend('unanswered');
  run.enterReview(why);
}

/**
 * Whether no trade query has named the created order for a whole confirmation window: from the first response that did not
 * until the last query.
 */
function isMissingForAWindow({ record, settings }: PayoutRun, queriedAtMs: number): boolean {
  const { missingSinceMs = queriedAtMs } = record;
  return queriedAtMs - missingSinceMs > settings.confirmationWindowMs;
}

/** Fewer disagreements in a row than this may be lag of the provider's reads. */
const PATIENCE = 3;
/** After this many responses in a row with the same debits, debits that differ from the quote are taken as true. */
const ANSWERS_ABOUT_DEBITS = 5;

/** Undefined if result and detail do not agree yet: both have to be fetched again. */
export async function verifyResult(run: PayoutRun, final: FinalTrade): Promise<PayoutResult | undefined> {
  const { request, record } = run;
  const { order, trade, status, learnedBy } = final;
  run.enter('FETCHING_DETAIL');
  const fetchDetail = (calls: CallSettings) =>
    polled(calls, 'ending', 'fetches the detail').fetchTradeDetail(run.principal, run.tradeKey);
  const detail = final.detail === undefined ? await run.call(fetchDetail).catch(() => null) : final.detail;
  const expected = { targetCurrency: request.targetCurrency, target: order.target };
  const why = detail ? disagreement(trade, detail, expected) : 'the detail could not be fetched';
  record.disagreements += 1;
  if (detail && why === undefined) {
    run.unflag('DETAIL_MISSING', 'DETAIL_DISAGREES');
    if (!debitsAreConfirmed(run, finalAttention(status, detail, order.quote))) return undefined;
    const { partnerOrderId } = request;
    return verifiedResult(partnerOrderId, { status, order, trade, detail, learnedBy });
  }
  if (record.disagreements >= PATIENCE)
    run.flag(!detail || isDetailMissing(trade, detail) ? 'DETAIL_MISSING' : 'DETAIL_DISAGREES', why ?? '');
  return undefined;
}

/** Flags what a person should know about the outcome. False while debits that differ from the quote may be a wrong response. */
function debitsAreConfirmed(run: PayoutRun, odd: Attention[]): boolean {
  const { record } = run;
  const debits = odd.find(({ code }) => code === 'DEBITS_DIFFER_FROM_QUOTE');
  const times = record.reportedDebits?.message === debits?.message ? (record.reportedDebits?.times ?? 0) : 0;
  record.reportedDebits = debits && { message: debits.message, times: times + 1 };
  run.unflag('DEBITS_DIFFER_FROM_QUOTE');
  if (debits && times + 1 < PATIENCE) return false;
  for (const { code, message } of odd) run.flag(code, message);
  return !debits || times + 1 >= ANSWERS_ABOUT_DEBITS;
}
