/** Outgoing events, in the form of Standard Webhooks: `webhook-id`, `webhook-timestamp` and `webhook-signature` are headers,
 * and this is the body. And the state of their delivery. */

import { z } from 'zod';
import {
  type AttentionOf,
  codesOf,
  type EndpointAttentionCode,
  FOLLOW_UP_ATTENTION,
  PAYOUT_ATTENTION,
  TOKEN_ATTENTION,
} from './attention-codes.ts';
import type { BatchResult, BatchState } from './batch.ts';
import {
  EVENT_TYPES,
  type EventType,
  OUTCOMES,
  PHASES,
  REASON_CODES,
  ROW_OUTCOMES,
  TEST_EVENT_TYPE,
} from './codes.ts';
import { moneyAnswer } from './fields.ts';
import type { Money } from './money.ts';
import { type PayoutState, payoutResultSchema, type Same, type Split } from './payout.ts';
import type { Metadata } from './payout-request.ts';
import { type FollowUpResult, followUpResultSchema } from './reconciliation.ts';
import type { TokenState } from './tokens.ts';

/** Only the code: texts of the provider and of people may contain personal data. */
export interface CodeOnly<Code extends string = string> {
  code: Code;
}

/** The fields of every event of a payout. */
export interface PayoutFacts {
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

const time = z.string().describe('ISO 8601');

const count = z.int().min(0);

const result = payoutResultSchema.shape;

const payoutFacts = {
  app: z.string(),
  partnerOrderId: z.string(),
  clientId: z.string(),
  payerId: z.string(),
  orderId: z.string().exactOptional(),
  metadata: result.metadata,
};

const shown = { ...payoutFacts, phase: z.enum(PHASES), outcome: z.enum(OUTCOMES).exactOptional() };

const flags = z
  .array(z.strictObject({ code: z.enum(codesOf(PAYOUT_ATTENTION)) }))
  .describe('the attention flags: why a person should look at the payout');

const split = result.splits.element.omit({ error: true, refundReason: true });

const followUp = followUpResultSchema.shape;

export const EVENT_DATA = {
  'payout.completed': z.strictObject({
    ...payoutFacts,
    phase: z.literal('DONE'),
    outcome: z.enum(OUTCOMES),
    reason: z.strictObject({ code: z.enum(REASON_CODES) }).exactOptional(),
    ...{ quote: result.quote, received: result.received, failed: result.failed },
    auditStatus: result.auditStatus,
    debits: result.debits,
    splits: z.array(split),
    ...{ createdAt: result.createdAt, finishedAt: result.finishedAt, learnedBy: result.learnedBy },
    reasons: flags,
  }),
  'payout.needs_attention': z.strictObject({ ...shown, reasons: flags }),
  'payout.attention_cleared': z.strictObject(shown),
  'payout.awaiting_approval': z.strictObject({
    ...payoutFacts,
    phase: z.literal('AWAITING_APPROVAL'),
    instructedAmount: moneyAnswer,
    quote: result.quote,
    approvalExpiresAt: time.exactOptional().describe('when the payout ends without an approval'),
    lockExpiresAt: time.exactOptional().describe('when the lock of the quote expires'),
  }),
  'payout.changed_after_end': z.strictObject({
    ...payoutFacts,
    outcome: followUp.outcome,
    changed: z.boolean().describe("whether the provider's answer differs from the reported result now"),
    returned: z.array(followUp.returned.element.omit({ refundReason: true })),
    returnedSums: followUp.returnedSums,
    differences: z.array(z.strictObject({ code: z.enum(codesOf(FOLLOW_UP_ATTENTION)), seenAt: time })),
  }),
  'batch.completed': z.strictObject({
    ...{ app: z.string(), batchId: z.string(), count, canceled: z.boolean() },
    ...{ started: count, joined: count, done: count, rejected: count },
    outcomes: z.record(z.enum(ROW_OUTCOMES), count),
  }),
  'token.needs_authorization': z.strictObject({
    app: z.string(),
    openId: z.string().describe('the user who must authorize the application'),
    expiresAt: time.exactOptional().describe('when the current token expires. Absent without a token'),
    reasons: z.array(z.strictObject({ code: z.enum(codesOf(TOKEN_ATTENTION)) })),
  }),
} satisfies Record<EventType, z.ZodType>;

/** What each type says: the description of its schema. */
const MEANINGS: Readonly<Record<EventType, string>> = {
  'payout.completed': 'The payout has ended. The result is final and was verified with the provider',
  'payout.needs_attention':
    'A person should look at the payout: it got an attention flag, or one with another code',
  'payout.attention_cleared': 'The payout has no attention flag anymore',
  'payout.awaiting_approval': 'The payout waits for an approval of this quote',
  'payout.changed_after_end':
    'A check after the end found that money came back, or that the provider says something else than the result',
  'batch.completed':
    'Every row of the batch has ended. Read the batch for the rows that a person should look at',
  'token.needs_authorization': 'The user must authorize the application again, or for the first time',
};

export function eventSchema(type: EventType) {
  return z
    .strictObject({
      type: z.literal(type).describe('the type of the event'),
      timestamp: time.describe('when the event was published. ISO 8601. The same for every delivery'),
      data: EVENT_DATA[type].describe(
        'ids, amounts and codes as of the event, and the metadata of a payout; no beneficiary and no texts of people',
      ),
    })
    .describe(MEANINGS[type]);
}

/** The body of every event that an endpoint may get. */
export const anyEventSchema = z.discriminatedUnion('type', [
  eventSchema('payout.completed'),
  ...EVENT_TYPES.filter((type) => type !== 'payout.completed').map(eventSchema),
  z.strictObject({
    type: z.literal(TEST_EVENT_TYPE),
    timestamp: time,
    data: z.strictObject({ app: z.string(), endpoint: z.string() }),
  }),
]);

export function meaningOf(type: EventType): string {
  return MEANINGS[type];
}

const matches: {
  [Type in EventType]: Same<z.output<(typeof EVENT_DATA)[Type]>, EventData[Type]>;
} = {
  'payout.completed': true,
  'payout.needs_attention': true,
  'payout.attention_cleared': true,
  'payout.awaiting_approval': true,
  'payout.changed_after_end': true,
  'batch.completed': true,
  'token.needs_authorization': true,
};

void matches;

export interface RecordedEvent {
  /** `webhook-id`. The same for every delivery of the event. */
  id: string;
  type: EventType | typeof TEST_EVENT_TYPE;
  data: object;
  /** When it was published. ISO 8601. Absent before. */
  timestamp?: string;
  /** Every endpoint that wants it has it in its queue. */
  isQueued?: true;
}

/** The identity of an endpoint. */
export interface EndpointKey {
  environment: string;
  app: string;
  endpoint: string;
}

/** An event as its publisher hands it to an endpoint. */
export interface QueuedEvent extends Pick<RecordedEvent, 'id'> {
  /** The workflow that published it, whose query `events` has it. */
  source: string;
  type?: RecordedEvent['type'] | undefined;
  /** Absent if it is large, or if many events wait: the delivery reads it from `source`. */
  body?: string | undefined;
  /** The trace in which it was published (`traceparent`), if it was traced. */
  trace?: string | undefined;
}

/** The argument of the signal `publish`. */
export interface QueueEvents {
  events: QueuedEvent[];
  /** The sender's time. Unix milliseconds. */
  atMs: number;
  /** Also those that were delivered before. */
  resend?: boolean;
}

export interface WaitingEvent extends QueuedEvent {
  attempts?: number;
  firstTriedAtMs?: number;
  /** Not before this time. */
  nextTryAtMs?: number;
  /** The endpoint has accepted others since this one was first tried. */
  othersDelivered?: true;
}

/** Tests use smaller ones. Durations in milliseconds. */
export interface DeliveryLimits {
  waiting: number;
  waitingBytes: number;
  bodies: number;
  bodyBytes: number;
  giveUpMs: number;
  firstPauseMs: number;
  maxPauseMs: number;
}

/** Why an endpoint gets no events. */
export type DisabledCode = 'GONE' | 'FAILING' | 'BACKLOG';

/** The state of a delivery workflow. It survives continue-as-new. */
export interface DeliveryRecord {
  limits: DeliveryLimits;
  /** In the order in which they arrived. */
  waiting: WaitingEvent[];
  /** The ids of the last delivered events, to recognize repeated ones. */
  recent: string[];
  disabled?: { code: DisabledCode; atMs: number } | undefined;
  /** Batches in a row without a delivery. */
  failures: number;
  failingSinceMs?: number | undefined;
  pauseUntilMs?: number | undefined;
  delivered: number;
  /** Events that failed for three days, that could not be read, and that found no room. */
  lost: number;
  lastDeliveredMs?: number | undefined;
  lastFailure?: { atMs: number; reason: string } | undefined;
  changedBy?: string | undefined;
  attention: AttentionOf<EndpointAttentionCode>[];
}

/** What became of one event in a batch. An event without an outcome was not tried. */
export type DeliveryOutcome = { id: string } & (
  | { kind: 'delivered' | 'gone' | 'skipped' | 'unreadable' }
  /** `reason`: an HTTP status, or why there is none. */
  | { kind: 'failed' | 'unread'; reason: string }
);

/** The answer to the query `state` of a delivery. */
export interface EndpointState extends Omit<EndpointKey, 'environment'> {
  sentence: string;
  isEnabled: boolean;
  disabledAt?: string;
  waiting: number;
  delivered: number;
  lost: number;
  lastDeliveredAt?: string;
  lastFailure?: { at: string; reason: string };
  needsAttention: boolean;
  reasons: AttentionOf<EndpointAttentionCode>[];
  /** The first events that wait, at most a hundred. */
  next: { id: string; source: string; type?: string; attempts: number }[];
}
