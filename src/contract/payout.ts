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
export const quoteSchema = z.strictObject({
  lockRateId: z.string().describe("The provider's id of the lock, which ties the quote to one create"),
  exchangeRate: z.string().describe('Decimal text, as the provider states it'),
  ...terms.shape,
});
export type AgreedQuote = z.output<typeof quoteSchema>;

/** One charge to a payer account (spec: Payout trade detail, `pay_account_detail`). */
const debit = z.strictObject({
  accountId: z.string().describe("The provider's id of the account"),
  accountType: z.string().describe("The provider's type of the account, such as AVAIL_ACCOUNT"),
  pay: moneySchema.describe('What the payer pays, in the origin currency'),
  fee: moneySchema.describe("The provider's fee"),
  actual: moneySchema.describe('What the provider charged to the account'),
});
export type Debit = z.output<typeof debit>;

const split = z.strictObject({
  distributeId: z.string().describe("The provider's id of the split"),
  target: moneySchema.describe('What the beneficiary receives, in the target currency'),
  status: z.enum(['SUCCESS', 'FAILED']).describe('Whether the beneficiary received the split'),
  finishedAt: time.exactOptional(),
  error: z.string().exactOptional().describe("The provider's reason why the split failed"),
  refunded: z.boolean().describe('Whether the split succeeded and its amount came back'),
  refundReason: z.string().exactOptional().describe("The provider's reason of the return"),
});
export type Split = z.output<typeof split>;

/** A decision of a person that the payout accepted. */
const decision = z.strictObject({
  action: z.enum(['approve', 'refuse', 'cancel', 'resolve']).describe('What the person decided'),
  by: z.string().describe('The name of the person, or of the key'),
  at: time.describe('when the decision was accepted. ISO 8601'),
  note: z
    .string()
    .exactOptional()
    .describe('the note of an approval or a refusal, or the reason of a cancellation'),
  lockRateId: z.string().exactOptional().describe('of an approval: the quote that the approver saw'),
  seen: terms.exactOptional().describe('of an approval: the terms of that quote'),
  tolerance: z
    .string()
    .exactOptional()
    .describe('of an approval: by how many percent more a later quote may cost, if the approver gave it'),
  covers: terms.exactOptional().describe('of an approval: the worst terms of a later quote that it covers'),
  created: z.boolean().exactOptional().describe('of a resolution: whether the order exists'),
  orderId: z.string().exactOptional().describe('of a resolution: the order that the person named'),
  tradeOrderId: z
    .string()
    .exactOptional()
    .describe('of a resolution: the number that the trade queries have for the order'),
  then: z.enum(['end', 'retry']).exactOptional().describe('of a resolution: what the person chose'),
  sends: z
    .int()
    .exactOptional()
    .describe('of a resolution: how many create calls had been sent, or may have been'),
});
export type MadeDecision = z.output<typeof decision>;

export const payoutResultSchema = z.strictObject({
  partnerOrderId: z.string().describe("The caller's own id of the payout, unique within its application"),
  outcome: z.enum(OUTCOMES).describe('How it ended. Absent before the end'),
  debits: z.array(debit).describe('The charges to accounts of the payer'),
  splits: z.array(split).describe('The payments into which the provider divided the order'),
  reason: reason.exactOptional().describe('Why there is no payment, or no account. Absent otherwise'),
  orderId: z.string().exactOptional().describe("The provider's id of the order. Absent without an order"),
  quote: quoteSchema.exactOptional().describe('The quote that was accepted, or that awaits approval'),
  received: moneySchema.exactOptional().describe('the sum of the splits that succeeded'),
  failed: moneySchema.exactOptional().describe('the sum of the splits that failed'),
  auditStatus: z.enum(AUDIT_STATUSES).exactOptional().describe("The provider's audit of the payout"),
  createdAt: time.exactOptional(),
  finishedAt: time.exactOptional(),
  learnedBy: z.enum(['notification', 'poll']).exactOptional().describe('How the end became known'),
  decisions: z
    .array(decision)
    .exactOptional()
    .describe('The decisions of people that counted, the latest last'),
  metadata: metadataSchema
    .exactOptional()
    .describe(
      "The caller's own pairs of a key and a text, for people and for the caller's programs. At most 20; a key has 1 to 40 characters, a text at most 500. State and result repeat them; the provider never sees them",
    ),
});
export type PayoutResult = z.output<typeof payoutResultSchema>;

export const storedResultSchema = stored(payoutResultSchema);

/** Something that a person should look at. */
const flag = attention(PAYOUT_ATTENTION);
export type Attention = z.output<typeof flag>;

const acknowledgement = z.strictObject({
  by: z.string().describe('The name of the person, or of the key'),
  at: time,
  note: z.string().exactOptional().describe('The reason of the decision, for people'),
  reasons: z.array(storedReason).describe('the flags of the payout and of its follow-up then'),
});
export type Acknowledgement = z.output<typeof acknowledgement>;

/** The result of the query `state` and of every update. */
export const payoutStateSchema = z.strictObject({
  phase: z
    .enum(PHASES)
    .describe('Where it is on its way; DONE after the end. `docs/reference.md` explains each phase'),
  ...flagged(flag).shape,
  lastAskedAt: time.exactOptional().describe('when the provider was last asked about this payout. ISO 8601'),
  lastConfirmedAt: time
    .exactOptional()
    .describe('when the last query was sent that the provider answered in a trustworthy way. ISO 8601'),
  acknowledged: acknowledgement
    .exactOptional()
    .describe('after the end: the flags that the payout ended with, and who has seen them'),
  approvalExpiresAt: time.exactOptional(),
  lockExpiresAt: time
    .exactOptional()
    .describe(
      'while the payout waits for approval: when its lock expires. A later approval requires a requote',
    ),
  sends: z
    .int()
    .exactOptional()
    .describe('in review: how many create calls this run of the workflow has sent, or may have sent'),
  reviewedOrderIds: z
    .array(z.string())
    .exactOptional()
    .describe('in review: the orders that the provider has named under this partnerOrderId'),
  ...payoutResultSchema.exactPartial().shape,
});
export type PayoutState = z.output<typeof payoutStateSchema>;
