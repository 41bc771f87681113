/** What the service's trade records mean, and whether they agree with each other. Decisions only, no I/O. */
import type { TradeDetail, TradeResult, TradeSplit } from '../payments/types.ts';
import { addMoney, type Money, sameMoney, sumMoney } from './money.ts';
import type { Attention, AuditStatus } from './payout.ts';

const FINAL_STATUSES = ['SUCCESS', 'PARTIAL_SUCCESS', 'FAILED'] as const;
export type FinalStatus = (typeof FINAL_STATUSES)[number];

/**
 * The final status of a trade, or undefined while it is open. A trade to CNY may be split into several
 * payments, so there a final status counts only once all of them are complete (spec: trade result, rule 1).
 */
export function finalStatus(trade: {
  status: string;
  complete: boolean;
  targetCurrency: string;
}): FinalStatus | undefined {
  const status = FINAL_STATUSES.find((known) => known === trade.status);
  return trade.targetCurrency === 'CNY' && !trade.complete ? undefined : status;
}

/** The spec writes the same value `RETURNED` and `DECLINED`; a value it does not name is undefined. */
export function auditStatusOf(raw: string | undefined): AuditStatus | undefined {
  if (raw === 'PROCESSING' || raw === 'APPROVED' || raw === 'REJECTED' || raw === 'RETURNED') return raw;
  return raw === 'DECLINED' ? 'RETURNED' : undefined;
}

/** What an operator should know about a trade that may still be open. */
export function tradeAttention(trade: TradeResult): Attention[] {
  const found: Attention[] = [];
  const audit = auditStatusOf(trade.auditStatus);
  if (audit === 'RETURNED')
    found.push({
      code: 'AWAITING_MATERIAL',
      message: `the risk audit sent the order back for more material (${trade.auditStatus})`,
    });
  if (audit === 'REJECTED' && finalStatus(trade) !== 'FAILED')
    found.push({
      code: 'AUDIT_REJECTED',
      message: `the risk audit rejected the order; its status is ${trade.status}`,
    });
  if (audit === undefined && trade.auditStatus !== undefined)
    found.push({
      code: 'UNKNOWN_AUDIT_STATUS',
      message: `the service answered an audit status the specification does not name: ${trade.auditStatus}`,
    });
  if (trade.status !== 'PROCESSING' && !FINAL_STATUSES.some((known) => known === trade.status))
    found.push({
      code: 'UNKNOWN_STATUS',
      message: `the service answered a status the specification does not name: ${trade.status}`,
    });
  return found;
}

/** Why result and detail cannot be believed together, or undefined when every sum and flag agrees. */
export function disagreement(
  result: TradeResult,
  detail: TradeDetail,
  target: Money | undefined,
): string | undefined {
  return (
    flagsDisagree(result, detail) ??
    detailMissing(result, detail) ??
    unknownSplit(detail) ??
    sumsDisagree(result, detail, target) ??
    statusContradictsSplits(result, detail)
  );
}

/** `DETAIL_MISSING` is worth its own word: the detail may only be late. */
export function isDetailMissing(result: TradeResult, detail: TradeDetail): boolean {
  return detail.splits.length === 0 && result.status !== 'FAILED';
}

function flagsDisagree(result: TradeResult, detail: TradeDetail): string | undefined {
  if (result.orderId !== detail.orderId) return 'result and detail name different orders';
  if (result.status !== detail.status) return `the result says ${result.status}, the detail ${detail.status}`;
  if (result.targetCurrency !== detail.targetCurrency)
    return `the result is in ${result.targetCurrency}, the detail in ${detail.targetCurrency}`;
  if (finalStatus(detail) === undefined) return 'the detail says that payments are still open';
  return undefined;
}

function detailMissing(result: TradeResult, detail: TradeDetail): string | undefined {
  return isDetailMissing(result, detail)
    ? `the status is ${result.status} and no payment is listed`
    : undefined;
}

function unknownSplit(detail: TradeDetail): string | undefined {
  const odd = detail.splits.find((split) => split.status !== 'SUCCESS' && split.status !== 'FAILED');
  if (odd) return `payment ${odd.distributeId} has the unknown status ${odd.status}`;
  const foreign = detail.splits.find((split) => split.target.currency !== detail.targetCurrency);
  return foreign && `payment ${foreign.distributeId} is in ${foreign.target.currency}`;
}

function sumsDisagree(
  result: TradeResult,
  detail: TradeDetail,
  target: Money | undefined,
): string | undefined {
  if (detail.received && !sameMoney(detail.received, result.received))
    return `received is ${show(result.received)} in the result and ${show(detail.received)} in the detail`;
  if (detail.failed && !sameMoney(detail.failed, result.failed))
    return `failed is ${show(result.failed)} in the result and ${show(detail.failed)} in the detail`;
  // FAILED without any payment is right as it stands: nothing was executed, so there is nothing to add up.
  if (detail.splits.length === 0) return undefined;
  const received = sumOf(detail.splits, 'SUCCESS', result.received.currency);
  const failed = sumOf(detail.splits, 'FAILED', result.failed.currency);
  if (!sameMoney(received, result.received))
    return `the payments that succeeded add up to ${show(received)}, the result says ${show(result.received)}`;
  if (!sameMoney(failed, result.failed))
    return `the payments that failed add up to ${show(failed)}, the result says ${show(result.failed)}`;
  const both = addMoney(received, failed);
  if (target && !sameMoney(both, target))
    return `the payments add up to ${show(both)}, the order was for ${show(target)}`;
  return undefined;
}

function statusContradictsSplits(result: TradeResult, detail: TradeDetail): string | undefined {
  if (detail.splits.length === 0) return undefined;
  const succeeded = detail.splits.filter((split) => split.status === 'SUCCESS').length;
  const expected = expectedStatus(succeeded, detail.splits.length);
  return expected === result.status
    ? undefined
    : `${succeeded} of ${detail.splits.length} payments succeeded, the status is ${result.status}`;
}

function expectedStatus(succeeded: number, all: number): FinalStatus {
  if (succeeded === all) return 'SUCCESS';
  return succeeded === 0 ? 'FAILED' : 'PARTIAL_SUCCESS';
}

function sumOf(splits: readonly TradeSplit[], status: string, currency: string): Money {
  return sumMoney(
    currency,
    splits.filter((split) => split.status === status).map((split) => split.target),
  );
}

function show(money: Money): string {
  return `${money.amount} ${money.currency}`;
}
