/** Builds the result of a payout that the provider has ended, from records that agree with each other. */

import type { PayoutResult, Split } from './payout.ts';
import type { KnownOrder } from './payout-record.ts';
import type { TradeDetail, TradeResult, TradeSplit } from './provider-records.ts';
import { auditStatusOf, type FinalStatus } from './trade-verdict.ts';

interface VerifiedPayout {
  status: FinalStatus;
  trade: TradeResult;
  detail: TradeDetail;
  order: Pick<KnownOrder, 'orderId' | 'quote'>;
  learnedBy: 'notification' | 'poll';
}

export function verifiedResult(partnerOrderId: string, settled: VerifiedPayout): PayoutResult {
  const { status, trade, detail, learnedBy } = settled;
  const { orderId, quote } = settled.order;
  const auditStatus = auditStatusOf(trade.auditStatus);
  return {
    partnerOrderId,
    outcome: status,
    ...(status === 'FAILED' && {
      reason: { code: 'PROVIDER_FAILED', message: failureMessage(trade, detail) },
    }),
    orderId,
    ...(quote && { quote }),
    received: trade.received,
    failed: trade.failed,
    ...(auditStatus && { auditStatus }),
    debits: detail.debits,
    splits: detail.splits.flatMap(toSplit),
    ...(trade.createdAt && { createdAt: trade.createdAt }),
    ...(trade.finishedAt && { finishedAt: trade.finishedAt }),
    learnedBy,
  };
}

/** The earlier checks let only these two statuses through; this narrows the type. */
function toSplit(split: TradeSplit): Split[] {
  const { status } = split;
  return status === 'SUCCESS' || status === 'FAILED' ? [{ ...split, status }] : [];
}

function failureMessage(trade: TradeResult, detail: TradeDetail): string {
  const message = trade.errorMessage ?? detail.splits.find((split) => split.error)?.error;
  return message ?? 'the provider gave no reason';
}
