/** What a follow-up knows about an ended payout, what it finds, and when it checks. No I/O. */

import type { EventType } from '../contract/codes.ts';
import { formatMoney, totalsByCurrency } from '../contract/money.ts';
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
  /** When the last check queried the provider, and the last one that got an answer. Unix milliseconds. */
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

/** The difference that a check without an answer reports. `seenAt` is the time of the first such check in a row. */
export function notChecked(why: string, known: Difference | undefined, nowMs: number): Difference {
  const message = `the last check got no answer, so it is unknown whether money was returned: ${why}`;
  return { code: 'COULD_NOT_CHECK', message, seenAt: known?.seenAt ?? isoTime(nowMs) };
}

/** How long one check may take before it counts as unanswered: until the next one is due, but at least a day. */
export function checkTimeoutMs(
  request: Pick<FollowUpRequest, 'endedAtMs'>,
  plan: Pick<FollowUpPlan, 'checksAfterMs'>,
  nowMs: number,
): number {
  const nextMs = nextCheckMs(request, plan, nowMs) ?? nowMs + 7 * DAY_MS;
  return Math.max(DAY_MS, nextMs - nowMs);
}

/**
 * How the provider's current answer differs from the reported result. `detail` null: the provider does not know the
 * order.
 */
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
  if (request.outcome === 'NOT_CREATED') return detail ? [orderExists(detail)] : [];
  if (!detail) return [{ code: 'ORDER_NOT_FOUND', message: 'the provider no longer knows the order' }];
  const { outcome } = request;
  const found: FollowUpAttention[] = [];
  if (detail.status !== outcome)
    found.push({
      code: 'OUTCOME_CHANGED',
      message: `the payout reported ${outcome}, the provider now says ${detail.status}`,
    });
  const splits = changedSplits(request.splits, detail);
  if (splits.length > 0) found.push({ code: 'SPLITS_CHANGED', message: splits.join('; ') });
  return found;
}

function orderExists({ orderId, status }: TradeDetail): FollowUpAttention {
  const message = `the payout reported NOT_CREATED, but the provider has order ${orderId} with status ${status}`;
  return { code: 'ORDER_EXISTS', message };
}

function changedSplits(splits: readonly Split[], detail: TradeDetail): string[] {
  const now = new Map(detail.splits.map((split) => [split.distributeId, split]));
  const changed = splits.flatMap(({ distributeId, status, target, refunded }) => {
    const other = now.get(distributeId);
    now.delete(distributeId);
    if (!other) return [`split ${distributeId} is missing`];
    const same = other.target.currency === target.currency && other.target.amount === target.amount;
    if (!same) return [`split ${distributeId} is now ${formatMoney(other.target)}`];
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

/** Why a person should look at the payout. Empty if nothing has changed. */
export function followUpReasons({
  returnedSums,
  differences,
  notChecked,
}: FollowUpResult): FollowUpAttention[] {
  const returned = returnedSums.map((sum) => ({
    code: 'MONEY_RETURNED' as const,
    message: `${formatMoney(sum)} was returned`,
  }));
  return [...returned, ...differences, ...(notChecked ? [notChecked] : [])];
}
