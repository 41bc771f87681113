/** From the created order to its end: ask at a notification or a poll, believe only what agrees with itself. */
import type { PayoutResult } from '../../domain/payout.ts';
import { settledResult } from '../../domain/settled-result.ts';
import { disagreement, type FinalStatus, finalStatus, isDetailMissing } from '../../domain/trade-verdict.ts';
import type { TradeDetail } from '../../payments/types.ts';
import { polled } from '../calls.ts';
import { askTrade, type KnownTrade } from './ask-trade.ts';
import type { PayoutLife } from './payout-life.ts';
import { type LearnedBy, waitToAsk } from './wait-to-ask.ts';

/** Disagreements in a row that pass as lag of the service's reads. */
const PATIENCE = 3;
/** Polls spread out by up to this part, so that payouts started together do not ask together for ever. */
const JITTER = 0.2;

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

/** Compares result and payments; undefined when something does not agree, and both are asked for again. */
async function believe(
  life: PayoutLife,
  { trade, detail: known }: KnownTrade,
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
