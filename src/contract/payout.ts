/** The result and the state of a payout: what the workflow stores, and what its query and its updates return. */
import { z } from 'zod';
import { PAYOUT_ATTENTION } from './attention-codes.ts';
import { AUDIT_STATUSES, OUTCOMES, PHASES, REASON_CODES } from './codes.ts';
import {
  attention,
  flagged,
  metadataSchema,
  moneySchema,
  reasonOf,
  stored,
  storedReason,
  time,
} from './fields.ts';

const reason = reasonOf(REASON_CODES);
export type Reason = z.output<typeof reason>;

/** The terms of a quote that decide what it costs, and what it brings. */
const terms = z.strictObject({ pay: moneySchema, fee: moneySchema, target: moneySchema });
export type Terms = z.output<typeof terms>;

/** The quote under which a payout is created. */
const quote = z.strictObject({ lockRateId: z.string(), exchangeRate: z.string(), ...terms.shape });
export type AgreedQuote = z.output<typeof quote>;
/** Drops the other fields of a quote. */
export const agreedQuoteSchema = z.object(quote.shape);

/** One charge to a payer account (spec: Payout trade detail, `pay_account_detail`). */
const debit = z.strictObject({
  accountId: z.string(),
  accountType: z.string(),
  pay: moneySchema,
  fee: moneySchema,
  actual: moneySchema.describe('The amount that the provider charged to the account'),
});
export type Debit = z.output<typeof debit>;

const split = z.strictObject({
  distributeId: z.string(),
  target: moneySchema,
  status: z.enum(['SUCCESS', 'FAILED']).describe('Whether the beneficiary received the split'),
  finishedAt: time.exactOptional(),
  error: z.string().exactOptional().describe("The provider's reason why the split failed"),
  refunded: z.boolean().describe('Whether the split succeeded and its amount came back'),
  refundReason: z.string().exactOptional(),
});
export type Split = z.output<typeof split>;

/** A decision that the payout accepted. */
const decision = z.strictObject({
  action: z.enum(['approve', 'refuse', 'cancel', 'resolve']).describe('The kind of decision'),
  by: z.string(),
  at: time.describe('When the decision was accepted. ISO 8601'),
  note: z.string().exactOptional().describe('The note of an approval or refusal, or the reason to cancel'),
  lockRateId: z.string().exactOptional().describe('Approval: the quote that the approver saw'),
  seen: terms.exactOptional().describe('Approval: the terms of that quote'),
  tolerance: z.string().exactOptional().describe('Approval: by how many percent more a later quote may cost'),
  covers: terms.exactOptional().describe('Approval: the worst terms of a later quote that it covers'),
  created: z.boolean().exactOptional().describe('Resolution: whether the order exists'),
  orderId: z.string().exactOptional().describe('Resolution: the order that the operator named'),
  tradeOrderId: z.string().exactOptional().describe("Resolution: the order's number in the trade queries"),
  then: z.enum(['end', 'retry']).exactOptional().describe('Resolution: the next step without an order'),
  sends: z.int().exactOptional().describe('Resolution: create calls that were sent, or may have been'),
});
export type MadeDecision = z.output<typeof decision>;

export const payoutResultSchema = z.strictObject({
  partnerOrderId: z.string(),
  outcome: z.enum(OUTCOMES),
  debits: z.array(debit).describe('The charges to accounts of the payer'),
  splits: z.array(split),
  reason: reason.exactOptional(),
  orderId: z.string().exactOptional(),
  quote: quote.exactOptional(),
  received: moneySchema.exactOptional().describe('The sum of the splits that succeeded'),
  failed: moneySchema.exactOptional().describe('The sum of the splits that failed'),
  auditStatus: z.enum(AUDIT_STATUSES).exactOptional().describe("The provider's audit of the payout"),
  createdAt: time.exactOptional(),
  finishedAt: time.exactOptional(),
  learnedBy: z.enum(['notification', 'poll']).exactOptional().describe('How the outcome became known'),
  decisions: z.array(decision).exactOptional().describe('The accepted decisions, the latest last'),
  metadata: metadataSchema.exactOptional(),
});
export type PayoutResult = z.output<typeof payoutResultSchema>;

export const storedResultSchema = stored(payoutResultSchema);

const flag = attention(PAYOUT_ATTENTION);
export type Attention = z.output<typeof flag>;

const acknowledgement = z.strictObject({
  by: z.string(),
  at: time,
  note: z.string().exactOptional(),
  reasons: z.array(storedReason).describe('The flags of the payout and of its follow-up then'),
});
export type Acknowledgement = z.output<typeof acknowledgement>;

/** The result of the query `state` and of every update. */
export const payoutStateSchema = z.strictObject({
  phase: z.enum(PHASES),
  ...flagged(flag).shape,
  stale: z
    .literal(true)
    .exactOptional()
    .describe('No worker is running: the last known state, without what only a worker knows'),
  asOf: time.exactOptional().describe('With stale: when a worker last recorded the state'),
  lastAskedAt: time.exactOptional().describe('When the provider was last asked about this payout. ISO 8601'),
  lastConfirmedAt: time.exactOptional().describe('When the last query with a trustworthy response was sent'),
  acknowledged: acknowledgement.exactOptional().describe('The flags at the end, and who acknowledged them'),
  approvalExpiresAt: time.exactOptional(),
  lockExpiresAt: time.exactOptional().describe('Awaiting approval: when the lock of the quote expires'),
  sends: z.int().exactOptional().describe('In review: create calls that this run has sent, or may have sent'),
  reviewedOrderIds: z.array(z.string()).exactOptional().describe('In review: the orders that were found'),
  ...payoutResultSchema.exactPartial().shape,
});
export type PayoutState = z.output<typeof payoutStateSchema>;

const step = z.strictObject({
  at: time,
  what: z.string().describe('The step in words'),
  detail: z.string().optional().describe('Amounts, or why'),
  tone: z.enum(['good', 'warn', 'bad']).optional().describe('Whether it went well'),
  isEvidence: z.boolean().optional().describe('It tells whether an order exists'),
  count: z
    .int()
    .optional()
    .describe('How many equal steps in a row, or by turns with their neighbors, such as polls'),
  lastAt: time.optional().describe('When the last of them was. ISO 8601'),
});

/** What happened in the latest runs of the workflow, at most six. */
export const timelineSchema = z.strictObject({
  steps: z.array(step).describe('The oldest first'),
  isCut: z.boolean().describe('There are more steps, or Temporal has deleted the history'),
});
export type Timeline = z.output<typeof timelineSchema>;
