/** From the created order to its final status: ask at a notification or a poll, accept only what agrees with itself. */
import type { Attention, PayoutResult } from '../../domain/payout.ts';
import type { KnownOrder } from '../../domain/payout-record.ts';
import type { TradeDetail } from '../../domain/provider-records.ts';
import { settledResult } from '../../domain/settled-result.ts';
import {
  disagreement,
  type FinalStatus,
  finalAttention,
  finalStatus,
  isDebitMismatch,
  isDetailMissing,
} from '../../domain/trade-verdict.ts';
import { polled } from '../shared/calls.ts';
import { type KnownTrade, queryTrade } from './query-trade.ts';
import type { PayoutRun } from './run.ts';
import { type LearnedBy, spread, waitForNotificationOrPoll } from './wait-to-ask.ts';

/** Disagreements in a row that pass as lag of the provider's reads. */
const PATIENCE = 3;
/** The provider says this often in a row that it debited another amount than quoted; then it counts as true. */
const ANSWERS_ABOUT_DEBITS = 5;

/**
 * Returns when the provider has said how the order ended and every sum agrees. No time limit: never a guess. Undefined
 * when the provider does not know the order any more: a person decides.
 */
export async function trackToFinal(run: PayoutRun, created: KnownOrder): Promise<PayoutResult | undefined> {
  let order = created;
  run.enter('PROCESSING');
  while (run.record.creation.stage === 'created') {
    const learnedBy = await waitForNotificationOrPoll(
      run,
      nextPollMs(run),
      'polls, should no notification come',
    );
    const answer = await queryTrade(run, order, learnedBy);
    const status = answer && finalStatus(answer.trade);
    if (answer) order = answer.order;
    // Only disagreements in a row make for quick polls.
    if (!status) run.record.disagreements = 0;
    if (answer && status) {
      run.enter('FETCHING_DETAIL');
      const result = await verifyResult(run, answer, status, learnedBy);
      if (result) return result;
    }
    await run.continueAsNewWhenLong();
  }
  return undefined;
}

function nextPollMs(run: PayoutRun): number {
  const { record, settings } = run;
  // A status that is final already is worth asking about soon; the first poll of a new order is not.
  const first = record.disagreements > 0 ? 1_000 : settings.pollFirstMs;
  const age = record.disagreements > 0 ? record.disagreements - 1 : record.asks - record.asksBefore;
  const wait = Math.min(settings.pollMaxMs, first * 2 ** Math.min(age, 30));
  return spread(wait);
}

/** Compares result and detail; undefined when something does not agree, and both are asked for again. */
async function verifyResult(
  run: PayoutRun,
  { order, trade, detail: known }: KnownTrade,
  status: FinalStatus,
  learnedBy: LearnedBy,
): Promise<PayoutResult | undefined> {
  const { request, record } = run;
  const detail = known === undefined ? await fetchDetail(run) : known;
  const expected = { targetCurrency: request.targetCurrency, target: order.target };
  const why = detail ? disagreement(trade, detail, expected) : 'its payments could not be read';
  record.disagreements += 1;
  if (detail && why === undefined) {
    run.unflag('DETAIL_MISSING', 'DETAIL_DISAGREES');
    if (!debitsAreSettled(run, finalAttention(status, detail, order.quote))) return undefined;
    const { partnerOrderId } = request;
    return settledResult(partnerOrderId, { status, trade, detail, quote: order.quote, learnedBy });
  }
  if (record.disagreements >= PATIENCE)
    run.flag(!detail || isDetailMissing(trade, detail) ? 'DETAIL_MISSING' : 'DETAIL_DISAGREES', why ?? '');
  return undefined;
}

/** Flags what a person should know about the end. False while debits other than quoted may be a passing answer. */
function debitsAreSettled(run: PayoutRun, odd: Attention[]): boolean {
  const { record } = run;
  const debits = odd.find(isDebitMismatch);
  const times = record.debitsSaid?.message === debits?.message ? (record.debitsSaid?.times ?? 0) : 0;
  record.debitsSaid = debits && { message: debits.message, times: times + 1 };
  run.unflag('DEBITS_DIFFER_FROM_QUOTE');
  if (debits && times + 1 < PATIENCE) return false;
  for (const { code, message } of odd) run.flag(code, message);
  return !debits || times + 1 >= ANSWERS_ABOUT_DEBITS;
}

async function fetchDetail(run: PayoutRun): Promise<TradeDetail | null> {
  const calls = polled(run.calls, 'ending', 'which payments were made?');
  try {
    return await run.call(() => calls.fetchTradeDetail(run.caller, run.tradeKey));
  } catch {
    return null;
  }
}
