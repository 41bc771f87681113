/** The request to open a receiving account, its result and its state (spec: Receiving account request). */

import { z } from 'zod';
import {
  type AttentionOf,
  codesOf,
  OPENING_ATTENTION,
  type OpeningAttentionCode,
} from './attention-codes.ts';
import {
  OPENING_OUTCOMES,
  OPENING_PHASES,
  OPENING_REASON_CODES,
  type OpeningOutcome,
  type OpeningPhase,
} from './codes.ts';
import { appName, type CheckResult, checkBody, currency, identifier, ownId, text } from './fields.ts';
import type { Same, StateText } from './payout.ts';
import type { ReceivingAccountRequest } from './provider-records.ts';

export interface OpeningReason {
  code: (typeof OPENING_REASON_CODES)[number];
  message: string;
}

/** The request to open a receiving account (spec: Receiving account request, in camelCase). */
export interface OpeningRequest extends ReceivingAccountRequest {
  /** The application that opens the account. Default `default`. */
  app?: string | undefined;
  /** The user for whom the application acts, if user tokens are used. */
  openId?: string | undefined;
  /** The caller's own id for this request, unique per application. The provider never sees it. */
  requestId: string;
}

/** A validated request: defaults filled in. */
export interface CheckedOpeningRequest extends OpeningRequest {
  app: string;
}

/** The result of an opening. */
export interface ReceivingAccountResult {
  requestId: string;
  outcome: OpeningOutcome;
  /** Set if the outcome is `NOT_OPENED`. */
  reason?: OpeningReason;
  payerId: string;
  currency: string;
  /** Absent if the provider's record has no known id field. */
  accountId?: string;
  /** The provider's record as received, with numbers as text. The spec does not list its fields. */
  account?: Record<string, unknown>;
  learnedBy?: 'answer' | 'person';
}

/** The result of the query `state` and of the update `resolve`. */
export interface ReceivingAccountState extends Partial<ReceivingAccountResult>, StateText {
  phase: OpeningPhase;
  needsAttention: boolean;
  reasons: AttentionOf<OpeningAttentionCode>[];
  /** In review: accounts of this payer and currency that appeared after the request was sent. */
  candidates?: string[];
  /** In review: how many requests this run has sent, or may have sent. */
  sends?: number;
  /** When the provider was last asked. ISO 8601. */
  lastAskedAt?: string;
}

const MAX_USAGES = 64;

/** A payer id. It is also a path segment of the balance query. */
export const payer = () =>
  identifier()
    .regex(/^[^/]*$/, 'must not contain slashes')
    .refine((value) => !/^\.{1,2}$/.test(value), 'must not be "." or ".."');

/** The provider's id of an account. It is a path segment. */
export const accountId = payer;

export const receivingAccountSchema = z.strictObject({
  app: appName.default('default'),
  openId: text(128).optional(),
  requestId: ownId().describe(
    'your own id for this request; every outcome uses it up. 1 to 64 printable ASCII characters, without quotes and backslashes, without spaces at the ends, and not "." or ".."',
  ),
  payerId: payer(),
  currency: currency(),
  bankLocation: z
    .literal('Hong Kong', { error: 'must be absent or "Hong Kong"' })
    .optional()
    .describe('absent or Hong Kong'),
  usages: z
    .array(text(255))
    .min(1, 'must be absent or name at least one platform')
    .max(MAX_USAGES, `must be at most ${MAX_USAGES} platforms`)
    .optional()
    .describe('platforms for which the account is used'),
  purposeCode: text(64).optional().describe('required when the payer is Indian'),
  monthSaleVolume: text(64).optional().describe('estimated total monthly sales volume'),
});

/** A request before validation: defaults absent. */
export type ReceivingAccountInput = z.input<typeof receivingAccountSchema>;

/** Validates a request to open a receiving account and reports every bad field. Does not throw. */
export function checkReceivingAccount(body: unknown): CheckResult<CheckedOpeningRequest> {
  return checkBody(receivingAccountSchema, body);
}

/** A request that a newer 1.x version accepted may have fields that this one does not know. */
const storedOpeningSchema = z.object(receivingAccountSchema.shape);

/** Reads a request that has been started, perhaps by a newer version. Does not throw. */
export function readStoredOpening(argument: unknown): CheckResult<CheckedOpeningRequest> {
  return checkBody(storedOpeningSchema, argument);
}

export const receivingAccountResultSchema = z.strictObject({
  requestId: z.string(),
  outcome: z.enum(OPENING_OUTCOMES),
  payerId: z.string(),
  currency: z.string(),
  reason: z.strictObject({ code: z.enum(OPENING_REASON_CODES), message: z.string() }).exactOptional(),
  accountId: z.string().exactOptional(),
  account: z
    .record(z.string(), z.unknown())
    .exactOptional()
    .describe("the provider's record, with numbers as text; its fields depend on the currency"),
  learnedBy: z.enum(['answer', 'person']).exactOptional(),
});

export const receivingAccountStateSchema = z.strictObject({
  phase: z.enum(OPENING_PHASES),
  sentence: z.string(),
  nextStep: z.string(),
  needsAttention: z.boolean(),
  reasons: z.array(z.strictObject({ code: z.enum(codesOf(OPENING_ATTENTION)), message: z.string() })),
  candidates: z
    .array(z.string())
    .exactOptional()
    .describe('in review: accounts of this payer and currency that appeared after the request was sent'),
  sends: z
    .int()
    .exactOptional()
    .describe('in review: how many requests this run of the workflow has sent, or may have sent'),
  lastAskedAt: z.string().exactOptional().describe('ISO 8601'),
  ...receivingAccountResultSchema.exactPartial().shape,
});

const matches: [
  Same<z.output<typeof receivingAccountResultSchema>, ReceivingAccountResult>,
  Same<z.output<typeof receivingAccountStateSchema>, ReceivingAccountState>,
] = [true, true];

void matches;
