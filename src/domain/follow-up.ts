/** What a follow-up knows of an ended payout, what it finds, and when it looks. Decisions only, no I/O. */

import type { AttentionOf, FollowUpAttentionCode } from './attention-codes.ts';
import { type Money, totalsByCurrency } from './money.ts';
import type { PayoutOutcome, PayoutSettings, Split } from './payout.ts';
import type { TradeDetail } from './provider-records.ts';

/** An ended payout as its own result reported it. */
export interface FollowUpRequest {
  /** Absent where nothing says for which environment the payout was made. */
  environment?: string | undefined;
  app: string;
  openId?: string | undefined;
  clientId: string;
  partnerOrderId: string;
  outcome: PayoutOutcome;
  splits: Split[];
  /** When the payout's workflow ended: looks are counted from here. Unix milliseconds. */
  endedAtMs: number;
}

export interface FollowUpPlan extends Pick<PayoutSettings, 'environment' | 'apiQueue' | 'callTimeoutMs'> {
  /** When to look, counted from the payout's end. */
  looksAfterMs: number[];
  /** After a notification that changed nothing, the next one waits this long at first. */
  hintPauseMs: number;
}

/** A payment that came back. */
export interface ReturnedPayment {
  distributeId: string;
  target: Money;
  refundReason?: string;
  /** It had come back before the payout ended, and the payout's own result says so. */
  inResult: boolean;
  /** When a look first saw it. ISO 8601. */
  seenAt: string;
}

type Attention = AttentionOf<FollowUpAttentionCode>;

/** Something that is not as the payout reported it. */
export interface Difference extends Attention {
  /** When a look first saw it. ISO 8601. */
  seenAt: string;
}

export interface FollowUpResult {
  partnerOrderId: string;
  /** As the payout reported it; it is never rewritten. */
  outcome: PayoutOutcome;
  /** Something is not as the payout reported it. Says nothing where `notChecked` is there. */
  changed: boolean;
  returned: ReturnedPayment[];
  /** What came back, by currency. */
  returnedSums: Money[];
  /** Whatever else is not as it was reported. */
  differences: Difference[];
  /** The last look brought no answer: nobody knows whether anything has changed since `lastLookedAt`. */
  notChecked?: Difference;
  /** Looks that brought an answer. */
  looks: number;
  lastLookedAt?: string;
}

/** Everything here survives continue-as-new. */
export interface FollowUpRecord {
  looks: number;
  lookedAtMs: number;
  answeredAtMs: number;
  returned: ReturnedPayment[];
  differences: Difference[];
  notChecked?: Difference | undefined;
  hinted: boolean;
  hintsSpent: number;
  hintAllowedAtMs: number;
}

const LONGEST_HINT_PAUSE_MS = 3_600_000;

export function newFollowUpRecord(): FollowUpRecord {
  return {
    looks: 0,
    lookedAtMs: 0,
    answeredAtMs: 0,
    returned: [],
    differences: [],
    hinted: false,
    hintsSpent: 0,
    hintAllowedAtMs: 0,
  };
}

/** The next look by the plan; several that were missed are one. Undefined after the last. */
export function nextLookMs(
  { endedAtMs }: Pick<FollowUpRequest, 'endedAtMs'>,
  { looksAfterMs }: Pick<FollowUpPlan, 'looksAfterMs'>,
  lookedAtMs: number,
): number | undefined {
  return looksAfterMs.map((after) => endedAtMs + after).find((dueMs) => dueMs > lookedAtMs);
}

/** Each notification doubles the pause before the next one counts, so that forged ones cost few questions. */
export function hintPauseMs(firstMs: number, spent: number): number {
  return Math.min(LONGEST_HINT_PAUSE_MS, firstMs * 2 ** Math.min(spent, 30));
}

/** Payments that are marked as returned now, whether or not the payout's result says so already. */
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
      seenAt: known.find((one) => one.distributeId === distributeId)?.seenAt ?? iso(nowMs),
    }));
}

/** A look that brought no answer, since the first such look. */
export function notChecked(why: string, known: Difference | undefined, nowMs: number): Difference {
  const message = `the last check brought no answer, so nobody knows whether money has come back: ${why}`;
  return { code: 'COULD_NOT_CHECK', message, seenAt: known?.seenAt ?? iso(nowMs) };
}

const DAY_MS = 86_400_000;

/** How long one look may take before it counts as unanswered: until the next one is due, and never less than a day. */
export function patienceMs(
  request: Pick<FollowUpRequest, 'endedAtMs'>,
  plan: Pick<FollowUpPlan, 'looksAfterMs'>,
  nowMs: number,
): number {
  const nextMs = nextLookMs(request, plan, nowMs) ?? nowMs + 7 * DAY_MS;
  return Math.max(DAY_MS, nextMs - nowMs);
}

/** How the provider's answer of now differs from what was reported. Null: it does not know the order. */
export function differencesSince(
  request: FollowUpRequest,
  detail: TradeDetail | null,
  known: readonly Difference[],
  nowMs: number,
): Difference[] {
  const seenBefore = (code: string) => known.find((one) => one.code === code)?.seenAt;
  return differences(request, detail).map((one) => ({ ...one, seenAt: seenBefore(one.code) ?? iso(nowMs) }));
}

function differences(request: FollowUpRequest, detail: TradeDetail | null): Attention[] {
  if (request.outcome === 'NOT_CREATED') return detail ? [orderExists(detail)] : [];
  if (!detail) return [{ code: 'ORDER_NOT_FOUND', message: 'the provider does not know the order any more' }];
  const { outcome } = request;
  const found: Attention[] = [];
  if (detail.status !== outcome)
    found.push({ code: 'OUTCOME_CHANGED', message: `reported was ${outcome}, it says ${detail.status} now` });
  const payments = changedPayments(request.splits, detail);
  if (payments.length > 0) found.push({ code: 'PAYMENTS_CHANGED', message: payments.join('; ') });
  return found;
}

function orderExists({ orderId, status }: TradeDetail): Attention {
  const message = `reported was NOT_CREATED, but the provider has order ${orderId}, which is ${status}`;
  return { code: 'ORDER_EXISTS', message };
}

function changedPayments(splits: readonly Split[], detail: TradeDetail): string[] {
  const now = new Map(detail.splits.map((split) => [split.distributeId, split]));
  const changed = splits.flatMap(({ distributeId, status, target, refunded }) => {
    const other = now.get(distributeId);
    now.delete(distributeId);
    if (!other) return [`payment ${distributeId} is gone`];
    const same = other.target.currency === target.currency && other.target.amount === target.amount;
    if (!same) return [`payment ${distributeId} is ${other.target.amount} ${other.target.currency} now`];
    if (refunded && !other.refunded) return [`payment ${distributeId} was returned, and is not any more`];
    return other.status === status ? [] : [`payment ${distributeId} was ${status}, is ${other.status} now`];
  });
  return [...changed, ...[...now.keys()].map((distributeId) => `payment ${distributeId} is new`)];
}

export function followUpResult(request: FollowUpRequest, record: FollowUpRecord): FollowUpResult {
  const { returned, differences, looks, answeredAtMs } = record;
  return {
    partnerOrderId: request.partnerOrderId,
    outcome: request.outcome,
    changed: returned.some(({ inResult }) => !inResult) || differences.length > 0,
    returned,
    returnedSums: totalsByCurrency(returned.map(({ target }) => target)),
    differences,
    ...(record.notChecked && { notChecked: record.notChecked }),
    looks,
    ...(answeredAtMs > 0 && { lastLookedAt: iso(answeredAtMs) }),
  };
}

/** Whether a person should look at it. */
export function followUpNeedsAttention({ returned, differences, notChecked }: FollowUpResult): boolean {
  return returned.length > 0 || differences.length > 0 || notChecked !== undefined;
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
