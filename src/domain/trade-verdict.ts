/** What the provider's trade records mean, and whether they agree with each other. Decisions only, no I/O. */

import { addMoney, compareMoney, type Money, sameMoney, sumMoney, toMinorUnits } from './money.ts';
import type { AgreedQuote, Attention, AuditStatus } from './payout.ts';
import type { TradeDetail, TradeResult, TradeSplit } from './provider-records.ts';

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

/** What stands in the way of a verdict, or undefined when result, detail, order and request agree in every sum and flag. */
export function disagreement(
  result: TradeResult,
  detail: TradeDetail,
  expected: ExpectedTrade,
): string | undefined {
  return (
    flagsDisagree(result, detail, expected) ??
    detailMissing(result, detail) ??
    oddSplit(detail) ??
    sumsDisagree(result, detail, expected.target) ??
    statusContradictsSplits(result, detail)
  );
}

/** What the payout knows before the trade ends. */
export interface ExpectedTrade {
  targetCurrency: string;
  /** The order's target amount, where the order could be read. */
  target: Money | undefined;
}

/** The detail may only be late, so this has an attention code of its own. */
export function isDetailMissing(result: TradeResult, detail: TradeDetail): boolean {
  return detail.splits.length === 0 && result.status !== 'FAILED';
}

const DEBITS_DIFFER = 'DEBITS_DIFFER_FROM_QUOTE';

/** What a person should know about a payout that ends with `detail`: returned money, and debits other than quoted. */
export function finalAttention(
  status: FinalStatus,
  detail: TradeDetail,
  quote: AgreedQuote | undefined,
): Attention[] {
  const returned = detail.splits.filter((split) => split.status === 'SUCCESS' && split.refunded);
  const found: Attention[] = [];
  if (returned.length > 0) {
    const which = returned.map(({ distributeId, target }) => `${distributeId} (${show(target)})`).join(', ');
    found.push({ code: 'PAYMENT_RETURNED', message: `the money of ${which} came back after it was paid` });
  }
  const debits = quote && debitProblem(status, detail, quote);
  if (debits) found.push({ code: DEBITS_DIFFER, message: debits });
  return found;
}

export function isDebitMismatch({ code }: Attention): boolean {
  return code === DEBITS_DIFFER;
}

/** Everything succeeded: the payer pays what was quoted. Something failed: never more than that. */
function debitProblem(status: FinalStatus, { debits }: TradeDetail, quote: AgreedQuote): string | undefined {
  if (debits.length === 0) return undefined;
  const foreign = debits.find(({ pay }) => pay.currency !== quote.pay.currency);
  if (foreign) return `account ${foreign.accountId} was debited in ${foreign.pay.currency}`;
  const pay = sumMoney(
    quote.pay.currency,
    debits.map((debit) => debit.pay),
  );
  const off = compareMoney(pay, quote.pay);
  if (off === 0 || (off < 0 && status !== 'SUCCESS')) return undefined;
  return `the debits add up to ${show(pay)}, quoted was ${show(quote.pay)}`;
}

function flagsDisagree(
  result: TradeResult,
  detail: TradeDetail,
  expected: ExpectedTrade,
): string | undefined {
  if (result.orderId !== detail.orderId) return 'result and detail name different orders';
  if (result.status !== detail.status) return `the result says ${result.status}, the detail ${detail.status}`;
  if (result.targetCurrency !== detail.targetCurrency)
    return `the result is in ${result.targetCurrency}, the detail in ${detail.targetCurrency}`;
  if (result.targetCurrency !== expected.targetCurrency)
    return `the trade is in ${result.targetCurrency}, asked was ${expected.targetCurrency}`;
  if (finalStatus(detail) === undefined) return 'the detail says that payments are still open';
  return undefined;
}

function detailMissing(result: TradeResult, detail: TradeDetail): string | undefined {
  return isDetailMissing(result, detail)
    ? `the status is ${result.status} and no payment is listed`
    : undefined;
}

function oddSplit(detail: TradeDetail): string | undefined {
  const odd = detail.splits.find((split) => split.status !== 'SUCCESS' && split.status !== 'FAILED');
  if (odd) return `payment ${odd.distributeId} has the unknown status ${odd.status}`;
  const foreign = detail.splits.find((split) => split.target.currency !== detail.targetCurrency);
  if (foreign) return `payment ${foreign.distributeId} is in ${foreign.target.currency}`;
  const ids = new Set(detail.splits.map(({ distributeId }) => distributeId));
  return ids.size === detail.splits.length ? undefined : 'two payments have the same id';
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
  if (detail.splits.length === 0) return nothingExecuted(result, target);
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

/** FAILED without any payment is final and correct (H23): nothing was received, and nothing or everything failed. */
function nothingExecuted({ received, failed }: TradeResult, target: Money | undefined): string | undefined {
  if (!isZero(received)) return `the status is FAILED, yet ${show(received)} was received`;
  if (isZero(failed) || !target || sameMoney(failed, target)) return undefined;
  return `${show(failed)} failed, the order was for ${show(target)}`;
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

function isZero({ amount }: Money): boolean {
  return toMinorUnits(amount) === 0n;
}

function show(money: Money): string {
  return `${money.amount} ${money.currency}`;
}
