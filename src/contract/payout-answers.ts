/**
 * Schemas of what a payout returns, for other languages. The types in `src/domain` are the source; the compiler checks
 * at the end of this file that the schemas match them.
 */
import { z } from 'zod';
import { codesOf, PAYOUT_ATTENTION } from '../domain/attention-codes.ts';
import {
  AUDIT_STATUSES,
  OUTCOMES,
  type PayoutResult,
  type PayoutState,
  PHASES,
  REASON_CODES,
} from '../domain/payout.ts';
import { PROBLEM_KINDS, problemType } from './problems.ts';

export const moneyAnswer = z.strictObject({
  currency: z.string(),
  amount: z
    .string()
    .regex(/^\d+\.\d{2}$/)
    .describe('decimal text with exactly two decimals'),
});

/** A balance as the provider states it. */
export const balanceAnswer = z.strictObject({
  currency: z.string(),
  amount: z
    .string()
    .regex(/^-?\d+\.\d{2,}$/)
    .describe('decimal text of any sign, with at least two decimals'),
});

const time = z.string().describe('ISO 8601');

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

const fileLine = z.int().describe('the line at which the row of a file begins, from 1');

export const problemSchema = z.strictObject({
  type: z
    .enum(PROBLEM_KINDS.map(problemType))
    .describe('a URI reference, relative to the API server, which serves a page about it'),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  errors: z
    .array(z.strictObject({ path: z.string(), message: z.string(), line: fileLine.exactOptional() }))
    .exactOptional()
    .describe('every bad field, of the kinds invalid-request and start-rejected'),
});

export type ProblemDocument = z.output<typeof problemSchema>;

const matches: [
  Same<z.output<typeof payoutResultSchema>, PayoutResult>,
  Same<z.output<typeof payoutStateSchema>, PayoutState>,
] = [true, true];
void matches;

/**
 * `true` if both types are assignable to each other, otherwise `never`. Checks schemas against types of `src/domain`.
 */
export type Same<One, Other> = [One, Other] extends [Other, One] ? true : never;
