/** What a follow-up knows about an finished payout, what it finds, and when it checks. No I/O. */

import type { EventType } from '../contract/codes.ts';
import { formatMoney, sameMoney, totalsByCurrency } from '../contract/money.ts';
import type { Split } from '../contract/payout.ts';
import type { TradeDetail } from '../contract/provider-records.ts';
import type {
  Difference,
  FollowUpAttention,
  FollowUpRequest,
  FollowUpResult,
  ReturnedPayment,
} from '../contract/reconciliation.ts';
import { EventLog } from './events.ts';
import type { PayoutSettings } from './payout-record.ts';
import { DAY_MS, HOUR_MS, isoTime } from './time.ts';

export interface FollowUpPlan extends Pick<PayoutSettings, 'environment' | 'apiQueue' | 'callTimeoutMs'> {
  /** When to check, counted from the payout's end. */
  checksAfterMs: number[];
  /** The first pause after a notification that changed nothing. */
  hintPauseMs: number;
  /** See `PayoutSettings`. */
  eventTypes?: EventType[];
}

/** The state of a follow-up. It survives continue-as-new. */
export class FollowUpRecord {
  checks = 0;
  /** When the last check queried the provider, and the last one that got a response. Unix milliseconds. */
  checkedAtMs = 0;
  confirmedAtMs = 0;
  returned: ReturnedPayment[] = [];
  differences: Difference[] = [];
  notChecked?: Difference | undefined;
  hinted = false;
  hintedQueries = 0;
  hintAllowedAtMs = 0;
  log = new EventLog();
}

const MAX_HINT_PAUSE_MS = HOUR_MS;

/** When the next check of the plan is due; missed checks are merged into one. Undefined after the last check. */
export function nextCheckMs(
  { endedAtMs }: Pick<FollowUpRequest, 'endedAtMs'>,
  { checksAfterMs }: Pick<FollowUpPlan, 'checksAfterMs'>,
  checkedAtMs: number,
): number | undefined {
  return checksAfterMs.map((after) => endedAtMs + after).find((dueMs) => dueMs > checkedAtMs);
}

/** Each notification doubles the pause before the next one counts, so that forged notifications cause few queries. */
export function hintPauseMs(firstMs: number, spent: number): number {
  return Math.min(MAX_HINT_PAUSE_MS, firstMs * 2 ** Math.min(spent, 30));
}

/** The splits that the provider now marks as returned, whether or not the payout's result already says so. */
export function returnedPayments(
  { splits }: FollowUpRequest,
  detail: TradeDetail,
  known: readonly ReturnedPayment[],
  nowMs: number,
): ReturnedPayment[] {
  return detail.splits
    .filter(({ refunded }) => refunded)
    .map(({ distributeId, target, refundReason }) => ({
      distributeId,
      target,
      ...(refundReason !== undefined && { refundReason }),
      inResult: splits.some((split) => split.distributeId === distributeId && split.refunded),
      seenAt: known.find((one) => one.distributeId === distributeId)?.seenAt ?? isoTime(nowMs),
    }));
}

/** The difference that a check without a response reports. `seenAt` is the time of the first such check in a row. */
export function notChecked(why: string, known: Difference | undefined, nowMs: number): Difference {
  const message = `the last check got no response, so money may have come back: ${why}`;
  return { code: 'COULD_NOT_CHECK', message, seenAt: known?.seenAt ?? isoTime(nowMs) };
}

/** How long one check may take before it counts as without a response: until the next one is due, but at least a day. */
export function checkTimeoutMs(
  request: Pick<FollowUpRequest, 'endedAtMs'>,
  plan: Pick<FollowUpPlan, 'checksAfterMs'>,
  nowMs: number,
): number {
  const nextMs = nextCheckMs(request, plan, nowMs) ?? nowMs + 7 * DAY_MS;
  return Math.max(DAY_MS, nextMs - nowMs);
}

/** Differences of the provider's response from the reported result. `detail` null: the provider doesn't know the order. */
export function differencesSince(
  request: FollowUpRequest,
  detail: TradeDetail | null,
  known: readonly Difference[],
  nowMs: number,
): Difference[] {
  const seenBefore = ({ code, message }: FollowUpAttention) =>
    known.find((one) => one.code === code && one.message === message)?.seenAt;
  return differences(request, detail).map((one) => ({ ...one, seenAt: seenBefore(one) ?? isoTime(nowMs) }));
}

function differences(request: FollowUpRequest, detail: TradeDetail | null): FollowUpAttention[] {
  const { outcome } = request;
  if (outcome === 'NOT_CREATED') {
    const message = `the payout reported NOT_CREATED, but order ${detail?.orderId} is ${detail?.status}`;
    return detail ? [{ code: 'ORDER_EXISTS', message }] : [];
  }
  if (!detail) return [{ code: 'ORDER_NOT_FOUND', message: 'the provider no longer knows the order' }];
  const splits = changedSplits(request.splits, detail).join('; ');
  const message = `the payout reported ${outcome}, the provider now says ${detail.status}`;
  const found: FollowUpAttention[] = detail.status === outcome ? [] : [{ code: 'OUTCOME_CHANGED', message }];
  return splits === '' ? found : [...found, { code: 'SPLITS_CHANGED', message: splits }];
}

function changedSplits(splits: readonly Split[], detail: TradeDetail): string[] {
  const now = new Map(detail.splits.map((split) => [split.distributeId, split]));
  const changed = splits.flatMap(({ distributeId, status, target, refunded }) => {
    const other = now.get(distributeId);
    now.delete(distributeId);
    if (!other) return [`split ${distributeId} is missing`];
    if (!sameMoney(other.target, target))
      return [`split ${distributeId} is now ${formatMoney(other.target)}`];
    if (other.status !== status) return [`split ${distributeId} was ${status} and is now ${other.status}`];
    return refunded && !other.refunded ? [`split ${distributeId} was returned and no longer is`] : [];
  });
  return [...changed, ...[...now.keys()].map((distributeId) => `split ${distributeId} is new`)];
}

export function followUpResult(request: FollowUpRequest, record: FollowUpRecord): FollowUpResult {
  const { returned, differences, checks, confirmedAtMs } = record;
  return {
    partnerOrderId: request.partnerOrderId,
    outcome: request.outcome,
    changed: returned.some(({ inResult }) => !inResult) || differences.length > 0,
    returned,
    returnedSums: totalsByCurrency(returned.map(({ target }) => target)),
    differences,
    ...(record.notChecked && { notChecked: record.notChecked }),
    checks,
    ...(confirmedAtMs > 0 && { lastCheckedAt: isoTime(confirmedAtMs) }),
  };
}

/** Why the payout needs an operator. Empty if nothing has changed. */
export function followUpReasons({
  returnedSums,
  differences,
  notChecked,
}: FollowUpResult): FollowUpAttention[] {
  const code = 'MONEY_RETURNED' as const;
  const returned = returnedSums.map((sum) => ({ code, message: `${formatMoney(sum)} was returned` }));
  return [...returned, ...differences, ...(notChecked ? [notChecked] : [])];
}
