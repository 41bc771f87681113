/** Outgoing events of payouts, batches and tokens. Never the beneficiary, never a token, no text but the caller's metadata. */

import type { AttentionCode, AttentionOf } from '../contract/attention-codes.ts';
import type { BatchState } from '../contract/batch.ts';
import { compact } from '../contract/compact.ts';
import type { EventData, PayoutFacts, RecordedEvent } from '../contract/events.ts';
import type { PayoutState } from '../contract/payout.ts';
import type { CheckedPayoutRequest } from '../contract/payout-request.ts';
import type { FollowUpRequest, FollowUpResult } from '../contract/reconciliation.ts';
import type { TokenState } from '../contract/tokens.ts';

/** The latest event last. It survives continue-as-new, so it is plain data. */
export class EventLog {
  events: RecordedEvent[] = [];
  /** State as of the last events, so that only a change publishes another one. */
  published: {
    codes?: string[];
    approvalOf?: string;
    isCompleted?: true;
    changes?: string;
    needsAuthorization?: boolean;
  } = {};
}

const MAX_QUEUED = 50;
const MAX_LOGGED = 100;

/** Drops the oldest events: of those that are queued, it keeps the last 50. */
export function trimmed(events: readonly RecordedEvent[]): RecordedEvent[] {
  const queued = events.filter(({ isQueued }) => isQueued);
  const surplus = queued.slice(0, Math.max(0, queued.length - MAX_QUEUED));
  return events.filter((event) => !surplus.includes(event)).slice(-MAX_LOGGED);
}

/** The body of an event, as it is signed and sent. */
export function bodyOf({ type, timestamp, data }: Omit<RecordedEvent, 'id'>): string {
  return JSON.stringify({ type, timestamp, data });
}

export type Publish = <Type extends keyof EventData>(type: Type, data: EventData[Type]) => void;

/** Publishes what is new in the state that a payout shows. */
export function publishPayout(
  published: EventLog['published'],
  request: CheckedPayoutRequest,
  state: PayoutState,
  publish: Publish,
): void {
  const { app, partnerOrderId, clientId, payerId } = request;
  const { phase, outcome, orderId } = state;
  const facts: PayoutFacts = compact({ app, partnerOrderId, clientId, payerId, orderId });
  const shown = { ...facts, ...compact({ phase, outcome }) };
  const codes = state.reasons.map(({ code }) => code);
  const known = published.codes ?? [];
  if (codes.some((code) => !known.includes(code)))
    publish('payout.needs_attention', { ...shown, reasons: codesOnly(state.reasons) });
  else if (codes.length === 0 && known.length > 0) publish('payout.attention_cleared', shown);
  published.codes = codes;
  const { quote, approvalExpiresAt, lockExpiresAt } = state;
  if (phase !== 'AWAITING_APPROVAL') delete published.approvalOf;
  else if (quote && published.approvalOf !== quote.lockRateId) {
    published.approvalOf = quote.lockRateId;
    publish('payout.awaiting_approval', {
      ...facts,
      phase,
      instructedAmount: request.instructedAmount,
      quote,
      ...compact({ approvalExpiresAt, lockExpiresAt }),
    });
  }
  if (phase !== 'DONE' || !outcome || published.isCompleted) return;
  published.isCompleted = true;
  const {
    reason,
    received,
    failed,
    auditStatus,
    createdAt,
    finishedAt,
    learnedBy,
    debits = [],
    splits = [],
  } = state;
  publish('payout.completed', {
    ...facts,
    ...compact({ quote, received, failed, auditStatus, createdAt, finishedAt, learnedBy }),
    phase,
    outcome,
    ...(reason && { reason: { code: reason.code } }),
    debits,
    splits: splits.map(({ error: _error, refundReason: _reason, ...split }) => split),
    reasons: codesOnly(state.reasons),
  });
}

/** Publishes what a follow-up has found since its last event. */
export function publishFollowUp(
  published: EventLog['published'],
  { app, clientId, payerId, orderId }: Pick<FollowUpRequest, 'app' | 'clientId' | 'payerId' | 'orderId'>,
  result: FollowUpResult,
  publish: Publish,
): void {
  const { partnerOrderId, outcome, changed, returned, returnedSums, differences } = result;
  const after = returned.filter(({ inResult }) => !inResult).map(({ distributeId }) => distributeId);
  const changes = JSON.stringify([after, differences.map(({ code, message }) => [code, message])]);
  if (changes === published.changes || (!changed && published.changes === undefined)) return;
  published.changes = changes;
  publish('payout.changed_after_end', {
    ...compact({ app, clientId, payerId, partnerOrderId, orderId, outcome, changed, returnedSums }),
    returned: returned.map(({ refundReason: _reason, ...one }) => one),
    differences: differences.map(({ code, seenAt }) => ({ code, seenAt })),
  });
}

export function publishBatch(published: EventLog['published'], state: BatchState, publish: Publish): void {
  if (published.isCompleted) return;
  published.isCompleted = true;
  const { app, batchId, count, started, joined, done, rejected, outcomes, canceled } = state;
  publish('batch.completed', { app, batchId, count, started, joined, done, rejected, outcomes, canceled });
}

export function publishToken(published: EventLog['published'], state: TokenState, publish: Publish): void {
  const { app, openId, needsAuthorization, expiresAt, reasons } = state;
  const isNew = needsAuthorization && !published.needsAuthorization;
  published.needsAuthorization = needsAuthorization;
  if (!isNew || openId === undefined) return;
  publish('token.needs_authorization', compact({ app, openId, expiresAt, reasons: codesOnly(reasons) }));
}

function codesOnly<Code extends AttentionCode>(reasons: readonly AttentionOf<Code>[]): { code: Code }[] {
  return reasons.map(({ code }) => ({ code }));
}
