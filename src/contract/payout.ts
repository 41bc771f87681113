/** The result and the state of a payout. */

import { z } from 'zod';
import { type AttentionOf, codesOf, PAYOUT_ATTENTION, type PayoutAttentionCode } from './attention-codes.ts';
import {
  AUDIT_STATUSES,
  type AuditStatus,
  OUTCOMES,
  type PayoutOutcome,
  type PayoutPhase,
  PHASES,
  REASON_CODES,
  type ReasonCode,
} from './codes.ts';
import { moneyAnswer, time } from './fields.ts';
import type { Money } from './money.ts';
import type { Metadata } from './payout-request.ts';

/** The terms of a quote that decide what it costs, and what it brings. */
export interface Terms {
  /** The amount that the payer account pays. */
  pay: Money;
  fee: Money;
  /** The amount that the beneficiary receives. */
  target: Money;
}

/** A decision that the payout accepted. */
export interface MadeDecision {
  action: 'approve' | 'refuse' | 'cancel' | 'resolve';
  by: string;
  /** ISO 8601. */
  at: string;
  /** The note of an approval or a refusal, or the reason of a cancellation. */
  note?: string;
  /** Of an approval: the quote that the approver saw, and its terms. */
  lockRateId?: string;
  seen?: Terms;
  /** Of an approval: by how many percent more a later quote may cost, if the approver gave it. */
  tolerance?: string;
  /** Of an approval: the worst terms of a later quote that it covers. */
  covers?: Terms;
  /** Of a resolution: what the person found out, and what they chose. */
  created?: boolean;
  orderId?: string;
  tradeOrderId?: string;
  then?: 'end' | 'retry';
  /** Of a resolution: how many creates had been sent, or may have been. */
  sends?: number;
}

export interface Reason {
  code: ReasonCode;
  message: string;
}

/** The terms of the quote under which a payout is created. */
export interface AgreedQuote extends Terms {
  /** Ties the quote to one create. */
  lockRateId: string;
  /** Decimal text of any precision. */
  exchangeRate: string;
}

/** One charge to a payer account (spec: Payout trade detail, `pay_account_detail`). */
export interface Debit {
  accountId: string;
  accountType: string;
  pay: Money;
  fee: Money;
  actual: Money;
}

export interface Split {
  distributeId: string;
  target: Money;
  status: 'SUCCESS' | 'FAILED';
  finishedAt?: string;
  error?: string;
  refunded: boolean;
  refundReason?: string;
}

/** The result of a payout. Amounts have exactly two decimals, times are ISO 8601. */
export interface PayoutResult {
  partnerOrderId: string;
  outcome: PayoutOutcome;
  reason?: Reason;
  orderId?: string;
  quote?: AgreedQuote;
  /** The sum of the splits that succeeded. */
  received?: Money;
  /** The sum of the splits that failed. */
  failed?: Money;
  auditStatus?: AuditStatus;
  debits: Debit[];
  splits: Split[];
  createdAt?: string;
  finishedAt?: string;
  learnedBy?: 'notification' | 'poll';
  /** The decisions of people that counted, the latest last. */
  decisions?: MadeDecision[];
  /** The pairs of the request. */
  metadata?: Metadata;
}

/** A reason for the attention flag: something that a person should look at. */
export type Attention = AttentionOf<PayoutAttentionCode>;

/** The state in words. */
export interface StateText {
  sentence: string;
  nextStep: string;
}

export interface Acknowledgement {
  by: string;
  /** ISO 8601. */
  at: string;
  note?: string;
  /** The flags of the payout and of its follow-up then. */
  reasons: { code: string; message: string }[];
}

/** The result of the query `state` and of every update. */
export interface PayoutState extends Partial<PayoutResult>, StateText {
  phase: PayoutPhase;
  /** When the provider was last asked about this payout. */
  lastAskedAt?: string;
  /** When the last query was sent that the provider answered in a trustworthy way. */
  lastConfirmedAt?: string;
  needsAttention: boolean;
  reasons: Attention[];
  /** After the end: the flags that the payout ended with, and who has seen them. */
  acknowledged?: Acknowledgement;
  approvalExpiresAt?: string;
  /** While the payout waits for approval: when its lock expires. An approval after that requires a requote. */
  lockExpiresAt?: string;
  /** In review: how many creates this run has sent, or may have sent. */
  sends?: number;
  /** In review: the orders that the provider has named under this `partnerOrderId` and that were not adopted. */
  reviewedOrderIds?: string[];
}

const reason = z.strictObject({ code: z.enum(REASON_CODES), message: z.string() });

const quote = z.strictObject({
  lockRateId: z.string(),
  exchangeRate: z.string(),
  pay: moneyAnswer,
  target: moneyAnswer,
  fee: moneyAnswer,
});

const debit = z.strictObject({
  accountId: z.string(),
  accountType: z.string(),
  pay: moneyAnswer,
  fee: moneyAnswer,
  actual: moneyAnswer,
});

const split = z.strictObject({
  distributeId: z.string(),
  target: moneyAnswer,
  status: z.enum(['SUCCESS', 'FAILED']),
  finishedAt: time.exactOptional(),
  error: z.string().exactOptional(),
  refunded: z.boolean(),
  refundReason: z.string().exactOptional(),
});

const terms = z.strictObject({ pay: moneyAnswer, fee: moneyAnswer, target: moneyAnswer });

const decision = z.strictObject({
  action: z.enum(['approve', 'refuse', 'cancel', 'resolve']),
  by: z.string(),
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
    .describe('of a resolution: how many creates had been sent, or may have been'),
});

export const payoutResultSchema = z.strictObject({
  partnerOrderId: z.string(),
  outcome: z.enum(OUTCOMES),
  debits: z.array(debit),
  splits: z.array(split),
  reason: reason.exactOptional(),
  orderId: z.string().exactOptional(),
  quote: quote.exactOptional(),
  received: moneyAnswer.exactOptional().describe('the sum of the splits that succeeded'),
  failed: moneyAnswer.exactOptional().describe('the sum of the splits that failed'),
  auditStatus: z.enum(AUDIT_STATUSES).exactOptional(),
  createdAt: time.exactOptional(),
  finishedAt: time.exactOptional(),
  learnedBy: z.enum(['notification', 'poll']).exactOptional(),
  decisions: z.array(decision).exactOptional(),
  metadata: z.record(z.string(), z.string()).exactOptional(),
});

/** A reason or an attention flag, whatever its code. */
export const storedReason = z.object({ code: z.string(), message: z.string() });

/**
 * A result that a workflow of any 1.x version has stored. Newer versions add fields and codes, which a reader of this one
 * ignores or shows as they are. Outcomes and the statuses of splits never grow.
 */
export const storedResultSchema = z.object({
  ...payoutResultSchema.shape,
  debits: z.array(z.object(debit.shape)),
  splits: z.array(z.object(split.shape)),
  reason: storedReason.exactOptional(),
  quote: z.object(quote.shape).exactOptional(),
  auditStatus: z.string().exactOptional(),
  learnedBy: z.string().exactOptional(),
  decisions: z
    .array(z.object({ ...decision.shape, action: z.string(), then: z.string().exactOptional() }))
    .exactOptional(),
});

export const payoutStateSchema = z.strictObject({
  phase: z.enum(PHASES),
  sentence: z.string(),
  nextStep: z.string(),
  lastAskedAt: time.exactOptional(),
  lastConfirmedAt: time.exactOptional(),
  needsAttention: z.boolean(),
  reasons: z.array(z.strictObject({ code: z.enum(codesOf(PAYOUT_ATTENTION)), message: z.string() })),
  acknowledged: z
    .strictObject({
      ...{ by: z.string(), at: time, note: z.string().exactOptional() },
      reasons: z
        .array(z.strictObject({ code: z.string(), message: z.string() }))
        .describe('the flags of the payout and of its follow-up then'),
    })
    .exactOptional()
    .describe('after the end: the flags that the payout ended with, and who has seen them'),
  approvalExpiresAt: time.exactOptional(),
  lockExpiresAt: time.exactOptional().describe('while the payout waits for approval: when its lock expires'),
  sends: z
    .int()
    .exactOptional()
    .describe('in review: how many creates this run of the workflow has sent, or may have sent'),
  reviewedOrderIds: z
    .array(z.string())
    .exactOptional()
    .describe('in review: the orders that the provider has named under this partnerOrderId'),
  ...payoutResultSchema.exactPartial().shape,
});

const matches: [
  Same<z.output<typeof payoutResultSchema>, PayoutResult>,
  Same<z.output<typeof payoutStateSchema>, PayoutState>,
] = [true, true];

void matches;

/**
 * `true` if both types are assignable to each other, otherwise `never`. Checks schemas against types of `src/domain`.
 */
export type Same<One, Other> = [One, Other] extends [Other, One] ? true : never;
