/** The meaning of the provider's trade records, whether they agree with each other, and the result that they make. */

import { AUDIT_STATUSES, type AuditStatus } from '../contract/codes.ts';
import { compact } from '../contract/compact.ts';
import {
  addMoney,
  compareMoney,
  formatMoney,
  type Money,
  sameMoney,
  sumMoney,
  toMinorUnits,
} from '../contract/money.ts';
import type { AgreedQuote, Attention, PayoutResult, Split } from '../contract/payout.ts';
import type { TradeDetail, TradeResult, TradeSplit } from '../contract/provider-records.ts';
import type { KnownOrder } from './payout-record.ts';

const FINAL_STATUSES = ['SUCCESS', 'PARTIAL_SUCCESS', 'FAILED'] as const;
export type FinalStatus = (typeof FINAL_STATUSES)[number];

/**
 * The final status of a trade, or undefined while it is open. A trade to CNY may have several splits, so its final
 * status counts only once all of them are complete (spec: Payout trade result, rule 1).
 */
export function finalStatus(
  trade: Pick<TradeResult, 'status' | 'complete' | 'targetCurrency'>,
): FinalStatus | undefined {
  const status = FINAL_STATUSES.find((known) => known === trade.status);
  return trade.targetCurrency === 'CNY' && !trade.complete ? undefined : status;
}

/** The spec spells the same status `RETURNED` and `DECLINED`. Undefined for a value that the spec doesn't name. */
export function auditStatusOf(raw: string | undefined): AuditStatus | undefined {
  return raw === 'DECLINED' ? 'RETURNED' : AUDIT_STATUSES.find((known) => known === raw);
}

/** Attention flags of a trade that may still be open. */
export function tradeAttention(trade: TradeResult): Attention[] {
  const { status, auditStatus } = trade;
  const audit = auditStatusOf(auditStatus);
  const found: Attention[] = [];
  const flag = (code: Attention['code'], message: string) => found.push({ code, message });
  if (audit === 'RETURNED')
    flag('AWAITING_MATERIAL', `the risk audit returned the order and awaits material (${auditStatus})`);
  if (audit === 'REJECTED' && finalStatus(trade) !== 'FAILED')
    flag('AUDIT_REJECTED', `the risk audit rejected the order; its status is ${status}`);
  if (audit === undefined && auditStatus !== undefined)
    flag('UNKNOWN_AUDIT_STATUS', `the specification does not name this audit status: ${auditStatus}`);
  if (status !== 'PROCESSING' && !FINAL_STATUSES.some((known) => known === status))
    flag('UNKNOWN_STATUS', `the specification does not name this status: ${status}`);
  return found;
}

/** Why result, detail, order and request disagree, or undefined if all their sums and flags agree. */
export function disagreement(
  result: TradeResult,
  detail: TradeDetail,
  expected: ExpectedTrade,
): string | undefined {
  return (
    flagMismatch(result, detail, expected) ??
    (isDetailMissing(result, detail)
      ? `the status is ${result.status}, but no split is listed`
      : undefined) ??
    invalidSplit(detail) ??
    sumMismatch(result, detail, expected.target) ??
    statusMismatch(result, detail)
  );
}

/** Known before the trade ends. */
export interface ExpectedTrade {
  targetCurrency: string;
  /** The order's target amount, where the order could be read. */
  target: Money | undefined;
}

/** A case of its own, because the detail may only be delayed. */
export function isDetailMissing(result: TradeResult, detail: TradeDetail): boolean {
  return detail.splits.length === 0 && result.status !== 'FAILED';
}

/** Attention flags of a payout that ends with `detail`: returned money, and debits that differ from the quote. */
export function finalAttention(
  status: FinalStatus,
  detail: TradeDetail,
  quote: AgreedQuote | undefined,
): Attention[] {
  const returned = detail.splits.filter((split) => split.status === 'SUCCESS' && split.refunded);
  const which = returned.map(({ distributeId, target }) => `${distributeId} (${formatMoney(target)})`);
  const message = `the money of ${which.join(', ')} was returned after it was paid`;
  const found: Attention[] = returned.length > 0 ? [{ code: 'PAYMENT_RETURNED', message }] : [];
  const debits = quote && debitProblem(status, detail, quote);
  if (debits) found.push({ code: 'DEBITS_DIFFER_FROM_QUOTE', message: debits });
  return found;
}

/** If everything succeeded, the payer pays the quoted amount. If a split failed, the payer never pays more than that. */
function debitProblem(status: FinalStatus, { debits }: TradeDetail, quote: AgreedQuote): string | undefined {
  if (debits.length === 0) return undefined;
  const other = debits.find(({ pay }) => pay.currency !== quote.pay.currency);
  if (other) return `account ${other.accountId} was debited in ${other.pay.currency}`;
  const pays = debits.map((debit) => debit.pay);
  const pay = sumMoney(quote.pay.currency, pays);
  const difference = compareMoney(pay, quote.pay);
  if (difference === 0 || (difference < 0 && status !== 'SUCCESS')) return undefined;
  return `the debits add up to ${formatMoney(pay)}, the quote was ${formatMoney(quote.pay)}`;
}

function flagMismatch(result: TradeResult, detail: TradeDetail, expected: ExpectedTrade): string | undefined {
  if (result.orderId !== detail.orderId) return 'result and detail name different orders';
  if (result.status !== detail.status) return `the result says ${result.status}, the detail ${detail.status}`;
  if (result.targetCurrency !== detail.targetCurrency)
    return `the result is in ${result.targetCurrency}, the detail in ${detail.targetCurrency}`;
  if (result.targetCurrency !== expected.targetCurrency)
    return `the trade is in ${result.targetCurrency}, not ${expected.targetCurrency}`;
  if (finalStatus(detail) === undefined) return 'the detail says that splits are still open';
  return undefined;
}

function invalidSplit(detail: TradeDetail): string | undefined {
  const unknown = detail.splits.find((split) => split.status !== 'SUCCESS' && split.status !== 'FAILED');
  if (unknown) return `split ${unknown.distributeId} has the unknown status ${unknown.status}`;
  const other = detail.splits.find((split) => split.target.currency !== detail.targetCurrency);
  if (other) return `split ${other.distributeId} is in ${other.target.currency}`;
  const ids = new Set(detail.splits.map(({ distributeId }) => distributeId));
  return ids.size === detail.splits.length ? undefined : 'two splits have the same id';
}

function sumMismatch(result: TradeResult, detail: TradeDetail, target?: Money): string | undefined {
  if (detail.received && !sameMoney(detail.received, result.received))
    return `received is ${formatMoney(result.received)} in the result and ${formatMoney(detail.received)} in the detail`;
  if (detail.failed && !sameMoney(detail.failed, result.failed))
    return `failed is ${formatMoney(result.failed)} in the result and ${formatMoney(detail.failed)} in the detail`;
  if (detail.splits.length === 0) return unexecutedMismatch(result, target);
  const received = sumOfSplits(detail.splits, 'SUCCESS', result.received.currency);
  const failed = sumOfSplits(detail.splits, 'FAILED', result.failed.currency);
  if (!sameMoney(received, result.received))
    return `the splits that succeeded add up to ${formatMoney(received)}, the result says ${formatMoney(result.received)}`;
  if (!sameMoney(failed, result.failed))
    return `the splits that failed add up to ${formatMoney(failed)}, the result says ${formatMoney(result.failed)}`;
  const both = addMoney(received, failed);
  if (target && !sameMoney(both, target))
    return `the splits add up to ${formatMoney(both)}, the order was for ${formatMoney(target)}`;
  return undefined;
}

/** FAILED without splits is a valid final response (H23): nothing was received, and nothing or everything failed. */
function unexecutedMismatch({ received, failed }: TradeResult, target?: Money): string | undefined {
  if (!isZero(received)) return `the status is FAILED, but ${formatMoney(received)} was received`;
  if (isZero(failed) || !target || sameMoney(failed, target)) return undefined;
  return `${formatMoney(failed)} failed, the order was for ${formatMoney(target)}`;
}

function statusMismatch(result: TradeResult, detail: TradeDetail): string | undefined {
  if (detail.splits.length === 0) return undefined;
  const all = detail.splits.length;
  const succeeded = detail.splits.filter((split) => split.status === 'SUCCESS').length;
  const expected = succeeded === all ? 'SUCCESS' : succeeded === 0 ? 'FAILED' : 'PARTIAL_SUCCESS';
  if (expected === result.status) return undefined;
  return `${succeeded} of ${all} splits succeeded, but the status is ${result.status}`;
}

function sumOfSplits(splits: readonly TradeSplit[], status: string, currency: string): Money {
  const counted = splits.filter((split) => split.status === status);
  return sumMoney(
    currency,
    counted.map(({ target }) => target),
  );
}

function isZero({ amount }: Money): boolean {
  return toMinorUnits(amount) === 0n;
}

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
  const { received, failed, createdAt, finishedAt } = trade;
  const auditStatus = auditStatusOf(trade.auditStatus);
  return {
    partnerOrderId,
    outcome: status,
    ...(status === 'FAILED' && {
      reason: { code: 'PROVIDER_FAILED', message: failureMessage(trade, detail) },
    }),
    orderId,
    ...compact({ quote, received, failed, auditStatus, createdAt, finishedAt, learnedBy }),
    debits: detail.debits,
    splits: detail.splits.flatMap(toSplit),
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
