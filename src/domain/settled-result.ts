/** The result of a payout whose end the service has told, from records that agree with each other. */

import type { AgreedQuote, PayoutResult, Split } from './payout.ts';
import type { TradeDetail, TradeResult, TradeSplit } from './provider-records.ts';
import { auditStatusOf, type FinalStatus } from './trade-verdict.ts';

export interface Settled {
  status: FinalStatus;
  trade: TradeResult;
  detail: TradeDetail;
  quote: AgreedQuote | undefined;
  learnedBy: 'notification' | 'poll';
}

export function settledResult(partnerOrderId: string, settled: Settled): PayoutResult {
  const { status, trade, detail, quote, learnedBy } = settled;
  const auditStatus = auditStatusOf(trade.auditStatus);
  return {
    partnerOrderId,
    outcome: status,
    ...(status === 'FAILED' && { reason: { code: 'PROVIDER_FAILED', message: failure(trade, detail) } }),
    orderId: trade.orderId,
    ...(quote && { quote }),
    received: trade.received,
    failed: trade.failed,
    ...(auditStatus && { auditStatus }),
    debits: detail.debits,
    splits: detail.splits.flatMap(asSplit),
    ...(trade.createdAt && { createdAt: trade.createdAt }),
    ...(trade.finishedAt && { finishedAt: trade.finishedAt }),
    learnedBy,
  };
}

/** Only these two statuses pass the checks before this; the type wants to hear it. */
function asSplit(split: TradeSplit): Split[] {
  const { status } = split;
  return status === 'SUCCESS' || status === 'FAILED' ? [{ ...split, status }] : [];
}

function failure(trade: TradeResult, detail: TradeDetail): string {
  const told = trade.errorMessage ?? detail.splits.find((split) => split.error)?.error;
  return told ?? 'the provider gave no reason';
}
