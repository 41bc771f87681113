/** The request to open a receiving account, checked once and for all; and what is answered, for other languages. */
import { z } from 'zod';
import { OPENING_ATTENTION } from '../domain/attention-codes.ts';
import { codesOf } from '../domain/explained.ts';
import {
  type CheckedReceivingAccountOrder,
  OPENING_OUTCOMES,
  OPENING_PHASES,
  OPENING_REASON_CODES,
  type ReceivingAccountResult,
  type ReceivingAccountState,
} from '../domain/receiving-account.ts';
import { appName, type CheckedOr, checked, currency, number, text } from './payout-request.ts';
import type { Same } from './same.ts';

const MOST_USAGES = 64;

/** It is a part of a path too, when the balance is asked for. */
export const payer = () =>
  number()
    .regex(/^[^/]*$/, 'must not contain slashes')
    .refine((value) => !/^\.{1,2}$/.test(value), 'must not be a dot or two');

/** The service's number of an account: a part of a path. */
export const accountId = payer;

export const receivingAccountSchema = z.strictObject({
  app: appName.default('default'),
  openId: text(128).optional(),
  requestId: number().describe('your own number of this request; spent by any outcome'),
  payerId: payer(),
  currency: currency(),
  bankLocation: z
    .literal('Hong Kong', { error: 'must be left out, or "Hong Kong"' })
    .optional()
    .describe('left out, or Hong Kong'),
  usages: z
    .array(text(255))
    .min(1, 'must be left out, or name a platform')
    .max(MOST_USAGES, `must be at most ${MOST_USAGES}`)
    .optional()
    .describe('platforms for which the account is used'),
  purposeCode: text(64).optional().describe('required when the payer is Indian'),
  monthSaleVolume: text(64).optional().describe('estimated total monthly sales volume'),
});

/** A request as it arrives: defaults absent. */
export type ReceivingAccountInput = z.input<typeof receivingAccountSchema>;

/** Checks `body`; names every bad field at once. */
export function checkReceivingAccount(body: unknown): CheckedOr<CheckedReceivingAccountOrder> {
  return checked(receivingAccountSchema, body);
}

const result = {
  requestId: z.string(),
  outcome: z.enum(OPENING_OUTCOMES),
  payerId: z.string(),
  currency: z.string(),
};

const known = {
  reason: z.strictObject({ code: z.enum(OPENING_REASON_CODES), message: z.string() }).exactOptional(),
  accountId: z.string().exactOptional(),
  account: z
    .record(z.string(), z.unknown())
    .exactOptional()
    .describe("the payments service's own record, numbers as text; its fields differ per currency"),
  learnedBy: z.enum(['answer', 'person']).exactOptional(),
};

export const receivingAccountResultSchema = z.strictObject({ ...result, ...known });

export const receivingAccountStateSchema = z.strictObject({
  phase: z.enum(OPENING_PHASES),
  sentence: z.string(),
  nextStep: z.string(),
  needsAttention: z.boolean(),
  reasons: z.array(z.strictObject({ code: z.enum(codesOf(OPENING_ATTENTION)), message: z.string() })),
  candidates: z
    .array(z.string())
    .exactOptional()
    .describe('in review: accounts of this payer and currency that were not there before'),
  lastAskedAt: z.string().exactOptional().describe('ISO 8601'),
  requestId: result.requestId.exactOptional(),
  outcome: result.outcome.exactOptional(),
  payerId: result.payerId.exactOptional(),
  currency: result.currency.exactOptional(),
  ...known,
});

const inStep: [
  Same<z.output<typeof receivingAccountResultSchema>, ReceivingAccountResult>,
  Same<z.output<typeof receivingAccountStateSchema>, ReceivingAccountState>,
] = [true, true];
void inStep;
