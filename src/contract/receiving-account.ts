/** The request to open a receiving account, its result and its state (spec: Receiving account request). */
import { z } from 'zod';
import { RECEIVING_ACCOUNT_ATTENTION } from './attention-codes.ts';
import {
  RECEIVING_ACCOUNT_OUTCOMES,
  RECEIVING_ACCOUNT_PHASES,
  RECEIVING_ACCOUNT_REASON_CODES,
} from './codes.ts';
import {
  appName,
  attention,
  type CheckResult,
  checkBody,
  currency,
  flagged,
  identifier,
  ownId,
  reasonOf,
  stored,
  text,
  time,
} from './fields.ts';

const MAX_USAGES = 64;

/** A payer id. It is also a path segment of the balance query. */
export const payer = () =>
  identifier()
    .regex(/^[^/]*$/, 'must not contain slashes')
    .refine((value) => !/^\.{1,2}$/.test(value), 'must not be "." or ".."');

/** The provider's id of an account. It is a path segment. */
export const accountId = payer;

export const receivingAccountRequestSchema = z.strictObject({
  app: appName.default('default'),
  openId: text(128).optional(),
  requestId: ownId().describe(
    'Your own ID for the request; every outcome uses it up. 1 to 64 printable ASCII characters, without quotes and backslashes, without spaces at the ends, and not "." or ".."',
  ),
  payerId: payer(),
  currency: currency(),
  bankLocation: z
    .literal('Hong Kong', { error: 'must be absent or "Hong Kong"' })
    .optional()
    .describe('Absent or Hong Kong'),
  usages: z
    .array(text(255))
    .min(1, 'must be absent or name at least one platform')
    .max(MAX_USAGES, `must be at most ${MAX_USAGES} platforms`)
    .optional()
    .describe('The platforms for which the account is used'),
  purposeCode: text(64).optional().describe('Required when the payer is Indian'),
  monthSaleVolume: text(64).optional().describe('The estimated total monthly sales volume'),
});

/** The request as callers send it: defaults absent. */
export type ReceivingAccountRequest = z.input<typeof receivingAccountRequestSchema>;
/** A validated request: defaults filled in. */
export type CheckedReceivingAccountRequest = z.output<typeof receivingAccountRequestSchema>;

/** Validates a request to open a receiving account and reports every bad field. Does not throw. */
export function checkReceivingAccount(body: unknown): CheckResult<CheckedReceivingAccountRequest> {
  return checkBody(receivingAccountRequestSchema, body);
}

const storedRequestSchema = stored(receivingAccountRequestSchema);

/** Reads a request that has been started, perhaps by a newer version. Does not throw. */
export function readStoredReceivingAccount(argument: unknown): CheckResult<CheckedReceivingAccountRequest> {
  return checkBody(storedRequestSchema, argument);
}

const reason = reasonOf(RECEIVING_ACCOUNT_REASON_CODES);
export type ReceivingAccountReason = z.output<typeof reason>;

export const receivingAccountResultSchema = z.strictObject({
  requestId: z.string(),
  outcome: z.enum(RECEIVING_ACCOUNT_OUTCOMES),
  payerId: z.string(),
  currency: z.string(),
  reason: reason.exactOptional(),
  accountId: z.string().exactOptional(),
  account: z
    .record(z.string(), z.unknown())
    .exactOptional()
    .describe("The provider's record, with numbers as text; its fields depend on the currency"),
  learnedBy: z.enum(['response', 'operator']).exactOptional().describe('How the outcome became known'),
});
export type ReceivingAccountResult = z.output<typeof receivingAccountResultSchema>;

/** The result of the query `state` and of the update `resolve`. */
export const receivingAccountStateSchema = z.strictObject({
  phase: z.enum(RECEIVING_ACCOUNT_PHASES),
  ...flagged(attention(RECEIVING_ACCOUNT_ATTENTION)).shape,
  candidates: z
    .array(z.string())
    .exactOptional()
    .describe('In review: accounts of this payer and currency that appeared after the request was sent'),
  sends: z.int().exactOptional().describe('In review: requests that this run has sent, or may have sent'),
  lastAskedAt: time.exactOptional(),
  ...receivingAccountResultSchema.exactPartial().shape,
});
export type ReceivingAccountState = z.output<typeof receivingAccountStateSchema>;
