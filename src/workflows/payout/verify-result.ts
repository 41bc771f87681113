/** Verifies a final trade: result and detail must agree in every sum and flag before the outcome is reported. */
import type { Attention, PayoutResult } from '../../contract/payout.ts';
import type { TradeDetail } from '../../contract/provider-records.ts';
import {
  disagreement,
  finalAttention,
  isDebitMismatch,
  isDetailMissing,
  verifiedResult,
} from '../../domain/payout-trade.ts';
import { polled } from '../shared/calls.ts';
import type { PayoutRun } from './run.ts';
import type { FinalTrade } from './track.ts';

/** Fewer disagreements in a row than this may be lag of the provider's reads. */
const PATIENCE = 3;
/** After this many answers in a row with the same debits, debits that differ from the quote count as true. */
const ANSWERS_ABOUT_DEBITS = 5;

/** Undefined if result and detail do not agree yet: both have to be fetched again. */
export async function verifyResult(run: PayoutRun, final: FinalTrade): Promise<PayoutResult | undefined> {
  const { request, record } = run;
  const { order, trade, status, learnedBy } = final;
  run.enter('FETCHING_DETAIL');
  const detail = final.detail === undefined ? await fetchDetail(run) : final.detail;
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

/** Flags what a person should know about the outcome. False while debits that differ from the quote may be a wrong answer. */
function debitsAreConfirmed(run: PayoutRun, odd: Attention[]): boolean {
  const { record } = run;
  const debits = odd.find(isDebitMismatch);
  const times = record.reportedDebits?.message === debits?.message ? (record.reportedDebits?.times ?? 0) : 0;
  record.reportedDebits = debits && { message: debits.message, times: times + 1 };
  run.unflag('DEBITS_DIFFER_FROM_QUOTE');
  if (debits && times + 1 < PATIENCE) return false;
  for (const { code, message } of odd) run.flag(code, message);
  return !debits || times + 1 >= ANSWERS_ABOUT_DEBITS;
}

async function fetchDetail(run: PayoutRun): Promise<TradeDetail | null> {
  const calls = polled(run.calls, 'ending', 'fetches the detail');
  try {
    return await run.call(() => calls.fetchTradeDetail(run.caller, run.tradeKey));
  } catch {
    return null;
  }
}
