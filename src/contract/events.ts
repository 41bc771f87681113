/** Outgoing events, as bodies of Standard Webhooks, and the state of their delivery. */

import { z } from 'zod';
import {
  type AttentionOf,
  codesOf,
  type EndpointAttentionCode,
  PAYOUT_ATTENTION,
  TOKEN_ATTENTION,
} from './attention-codes.ts';
import { batchStateSchema } from './batch.ts';
import { EVENT_TYPES, type EventType, OUTCOMES, PHASES, REASON_CODES, TEST_EVENT_TYPE } from './codes.ts';
import { moneySchema, time } from './fields.ts';
import { payoutResultSchema } from './payout.ts';
import { followUpResultSchema } from './reconciliation.ts';

const result = payoutResultSchema.shape;

/** Only the code: texts of the provider, approvers and operators may contain personal data. */
function codeOnly<const Codes extends readonly string[]>(codes: Codes) {
  return z.strictObject({ code: z.enum(codes) });
}

const payoutFacts = z.strictObject({
  app: z.string(),
  partnerOrderId: z.string(),
  clientId: z.string(),
  payerId: z.string(),
  orderId: z.string().exactOptional(),
  metadata: result.metadata,
});
export type PayoutFacts = z.output<typeof payoutFacts>;

const shown = payoutFacts.extend({ phase: z.enum(PHASES), outcome: z.enum(OUTCOMES).exactOptional() });
const flags = z.array(codeOnly(codesOf(PAYOUT_ATTENTION))).describe('The attention flags of the payout');
const followUp = followUpResultSchema.shape;
const batch = batchStateSchema.shape;

const EVENT_DATA = {
  'payout.completed': payoutFacts
    .extend({
      phase: z.literal('DONE'),
      outcome: z.enum(OUTCOMES),
      reason: codeOnly(REASON_CODES).exactOptional(),
      quote: result.quote,
      received: result.received,
      failed: result.failed,
      auditStatus: result.auditStatus,
      debits: result.debits,
      splits: z.array(result.splits.element.omit({ error: true, refundReason: true })),
      createdAt: result.createdAt,
      finishedAt: result.finishedAt,
      learnedBy: result.learnedBy,
      reasons: flags,
    })
    .describe('The payout has finished. The result is final and was verified with the provider'),
  'payout.needs_attention': shown
    .extend({ reasons: flags })
    .describe('The payout needs an operator: it got an attention flag, or one with another code'),
  'payout.attention_cleared': shown.describe('The payout has no attention flag anymore'),
  'payout.awaiting_approval': payoutFacts
    .extend({
      phase: z.literal('AWAITING_APPROVAL'),
      instructedAmount: moneySchema,
      quote: result.quote,
      approvalExpiresAt: time.exactOptional().describe('When the payout ends without an approval'),
      lockExpiresAt: time.exactOptional().describe('When the lock of the quote expires'),
    })
    .describe('The payout waits for an approval of this quote'),
  'payout.changed_after_end': payoutFacts
    .extend({
      outcome: followUp.outcome,
      changed: z.boolean().describe("Whether the provider's response differs from the reported result now"),
      returned: z.array(followUp.returned.element.omit({ refundReason: true })),
      returnedSums: followUp.returnedSums,
      differences: z.array(followUp.differences.element.omit({ message: true })),
    })
    .describe('After the payout finished, money came back or the provider contradicts the result'),
  'batch.completed': z
    .strictObject({
      app: batch.app,
      batchId: batch.batchId,
      count: batch.count,
      canceled: batch.canceled,
      started: batch.started,
      joined: batch.joined,
      done: batch.done,
      rejected: batch.rejected,
      outcomes: batch.outcomes,
    })
    .describe(
      'Every row of the batch has finished, or was never started because the batch was canceled. Its state lists the rows that need an operator',
    ),
  'token.needs_authorization': z
    .strictObject({
      app: z.string(),
      openId: z.string().describe('The user who must authorize the application'),
      expiresAt: time.exactOptional().describe('When the current token expires. Absent without a token'),
      reasons: z.array(codeOnly(codesOf(TOKEN_ATTENTION))),
    })
    .describe('The user must authorize the application again, or for the first time'),
} satisfies Record<EventType, z.ZodType>;

export type EventData = { [Type in EventType]: z.output<(typeof EVENT_DATA)[Type]> };

export function eventSchema(type: EventType) {
  return z
    .strictObject({
      type: z.literal(type).describe('The type of the event'),
      timestamp: time.describe('When the event was published. ISO 8601. The same for every delivery'),
      data: EVENT_DATA[type].describe(
        'Ids, amounts and codes at the time of the event, and the metadata of a payout. Never the beneficiary',
      ),
    })
    .describe(meaningOf(type));
}

/** The body of every event that an endpoint may get. */
export const anyEventSchema = z.union([
  ...EVENT_TYPES.map(eventSchema),
  z.strictObject({
    type: z.literal(TEST_EVENT_TYPE),
    timestamp: time,
    data: z.strictObject({ app: z.string(), endpoint: z.string() }),
  }),
]);

/** The meaning of the type: the description of its data. */
export function meaningOf(type: EventType): string {
  return EVENT_DATA[type].description ?? '';
}

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
  /** Include those that were delivered before. */
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
  /** Events that failed for three days, that couldn't be read, and that found no room. */
  lost: number;
  lastDeliveredMs?: number | undefined;
  lastFailure?: { atMs: number; reason: string } | undefined;
  changedBy?: string | undefined;
  attention: AttentionOf<EndpointAttentionCode>[];
}

/** The outcome of one event in a batch. An event without an outcome wasn't tried. */
export type DeliveryOutcome = { id: string } & Outcome;

export type Outcome =
  | { kind: 'delivered' | 'gone' | 'skipped' | 'unreadable' }
  /** `reason`: an HTTP status, or why there is none. */
  | { kind: 'failed' | 'unread'; reason: string };

/** The result of the query `state` of a delivery. */
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
