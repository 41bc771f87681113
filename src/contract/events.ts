/**
 * Schemas of outgoing events, in the form of Standard Webhooks: `webhook-id`, `webhook-timestamp` and
 * `webhook-signature` are headers, and this is the body. The types in `src/domain/events.ts` are the source.
 */
import { z } from 'zod';
import {
  codesOf,
  FOLLOW_UP_ATTENTION,
  PAYOUT_ATTENTION,
  TOKEN_ATTENTION,
} from '../domain/attention-codes.ts';
import { ROW_OUTCOMES } from '../domain/batch.ts';
import { EVENT_TYPES, type EventType, TEST_EVENT_TYPE } from '../domain/event-log.ts';
import type { EventData } from '../domain/events.ts';
import { OUTCOMES, PHASES, REASON_CODES } from '../domain/payout.ts';
import { moneyAnswer, payoutResultSchema, type Same } from './payout-answers.ts';
import { followUpResultSchema } from './reports.ts';

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
