/** Outgoing events: what a payout, a batch or a token publishes to callers. Never the beneficiary, never a token, no text but the caller's own metadata. */
import type { AttentionCode, AttentionOf } from './attention-codes.ts';
import type { BatchResult, BatchState } from './batch.ts';
import type { EventLog } from './event-log.ts';
import type { FollowUpRequest, FollowUpResult } from './follow-up.ts';
import type { Money } from './money.ts';
import type { CheckedPayoutRequest, Metadata, PayoutState, Split } from './payout.ts';
import type { TokenState } from './token-record.ts';

/** Only the code: texts of the provider and of people may contain personal data. */
interface CodeOnly<Code extends string = string> {
  code: Code;
}

/** The fields of every event of a payout. */
interface PayoutFacts {
  app: string;
  partnerOrderId: string;
  clientId: string;
  payerId: string;
  orderId?: string;
  /** Added when the event is published. */
  metadata?: Metadata;
}

type SplitFacts = Omit<Split, 'error' | 'refundReason'>;

export interface EventData {
  'payout.completed': PayoutFacts & { phase: 'DONE' } & Required<Pick<PayoutState, 'outcome'>> &
    Pick<
      PayoutState,
      'quote' | 'received' | 'failed' | 'auditStatus' | 'createdAt' | 'finishedAt' | 'learnedBy'
    > & {
      reason?: CodeOnly<NonNullable<PayoutState['reason']>['code']>;
      debits: NonNullable<PayoutState['debits']>;
      splits: SplitFacts[];
      reasons: CodeOnly<PayoutState['reasons'][number]['code']>[];
    };
  'payout.needs_attention': PayoutFacts &
    Pick<PayoutState, 'phase' | 'outcome'> & { reasons: CodeOnly<PayoutState['reasons'][number]['code']>[] };
  'payout.attention_cleared': PayoutFacts & Pick<PayoutState, 'phase' | 'outcome'>;
  'payout.awaiting_approval': PayoutFacts & { phase: 'AWAITING_APPROVAL'; instructedAmount: Money } & Pick<
      PayoutState,
      'quote' | 'approvalExpiresAt' | 'lockExpiresAt'
    >;
  'payout.changed_after_end': Pick<
    FollowUpResult,
    'partnerOrderId' | 'outcome' | 'changed' | 'returnedSums'
  > & {
    app: string;
    clientId: string;
    payerId: string;
    orderId?: string;
    returned: Omit<FollowUpResult['returned'][number], 'refundReason'>[];
    differences: (CodeOnly<FollowUpResult['differences'][number]['code']> & { seenAt: string })[];
    /** Added when the event is published. */
    metadata?: Metadata;
  };
  'batch.completed': Pick<
    BatchResult,
    'app' | 'batchId' | 'count' | 'started' | 'joined' | 'done' | 'rejected'
  > &
    Pick<BatchResult, 'outcomes'> &
    Pick<BatchState, 'canceled'>;
  'token.needs_authorization': { app: string; openId: string; expiresAt?: string } & {
    reasons: CodeOnly<TokenState['reasons'][number]['code']>[];
  };
}

export type Publish = <Type extends keyof EventData>(type: Type, data: EventData[Type]) => void;

/** Publishes what is new in the state that a payout shows. */
export function publishPayout(
  published: EventLog['published'],
  request: CheckedPayoutRequest,
  state: PayoutState,
  publish: Publish,
): void {
  const facts = factsOf(request, state);
  const { phase, outcome } = state;
  const shown = { ...facts, phase, ...(outcome && { outcome }) };
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
      ...{ ...facts, phase, instructedAmount: request.instructedAmount, quote },
      ...(approvalExpiresAt !== undefined && { approvalExpiresAt }),
      ...(lockExpiresAt !== undefined && { lockExpiresAt }),
    });
  }
  if (phase !== 'DONE' || !outcome || published.isCompleted) return;
  published.isCompleted = true;
  publish('payout.completed', completedOf(facts, outcome, state));
}

function factsOf(
  { app, partnerOrderId, clientId, payerId }: CheckedPayoutRequest,
  { orderId }: PayoutState,
): PayoutFacts {
  return { app, partnerOrderId, clientId, payerId, ...(orderId !== undefined && { orderId }) };
}

function completedOf(
  facts: PayoutFacts,
  outcome: EventData['payout.completed']['outcome'],
  state: PayoutState,
): EventData['payout.completed'] {
  const { reason, quote, received, failed, auditStatus, createdAt, finishedAt, learnedBy } = state;
  return {
    ...{ ...facts, phase: 'DONE', outcome },
    ...(reason && { reason: { code: reason.code } }),
    ...(quote && { quote }),
    ...(received && { received }),
    ...(failed && { failed }),
    ...(auditStatus && { auditStatus }),
    debits: state.debits ?? [],
    splits: (state.splits ?? []).map(({ error: _error, refundReason: _reason, ...split }) => split),
    ...(createdAt !== undefined && { createdAt }),
    ...(finishedAt !== undefined && { finishedAt }),
    ...(learnedBy && { learnedBy }),
    reasons: codesOnly(state.reasons),
  };
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
    ...{ app, clientId, payerId, partnerOrderId, outcome, changed, returnedSums },
    ...(orderId !== undefined && { orderId }),
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
  const data = { app, openId, ...(expiresAt !== undefined && { expiresAt }), reasons: codesOnly(reasons) };
  publish('token.needs_authorization', data);
}

function codesOnly<Code extends AttentionCode>(reasons: readonly AttentionOf<Code>[]): CodeOnly<Code>[] {
  return reasons.map(({ code }) => ({ code }));
}
