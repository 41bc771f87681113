/** The payout request. All starters and the first activity of the workflow use its schema, so they reject the same bodies for
 * the same reasons. */

import { z } from 'zod';
import { PAYOUT_TYPES } from './codes.ts';
import type { FieldError } from './failures.ts';
import {
  accountNumber,
  appName,
  bankCode,
  type CheckResult,
  checkBody,
  currency,
  idCardNumber,
  identifier,
  looseText,
  metadataSchema,
  money,
  moneySchema,
  nameText,
  ownId,
  positiveMoney,
  stored,
  text,
  timeWithOffset,
  unlessAbsent,
} from './fields.ts';
import { METADATA_KEY, METADATA_KEY_RULE, payoutWorkflowId } from './ids.ts';

const rate = z
  .string({ error: unlessAbsent('must be decimal text such as "7.1", not a number') })
  .regex(/^\d{1,9}(\.\d{1,12})?$/, 'must be a decimal number, such as "7.1234"');

const receiver = z.strictObject({
  bankCountry: nameText(64).describe('Country or area code of the bank'),
  bankName: nameText().describe('Name of the bank'),
  bankAccountCurrency: currency().describe('ISO 4217 code of the account: the target currency'),
  bankAccountNumber: accountNumber().describe('Number of the account or card: digits, letters, hyphens'),
  bankAccountName: nameText().describe('Name on the account or card'),
  bankCode: bankCode().optional().describe('Code of the bank: letters, digits and hyphens'),
  bankBranchName: nameText().optional().describe('Branch or address of the bank'),
  province: nameText().optional().describe('Province of the bank'),
  city: nameText().optional().describe('City of the bank'),
  idCardNumber: idCardNumber().describe('Identity number of the holder: digits, letters, - / ( )'),
  cardHoldType: text(32).describe('Type of the holder, such as Personal'),
});
/** The beneficiary's bank account: `receiver` in the spec's "Payout creation request". */
export type Receiver = z.output<typeof receiver>;

export const MAX_METADATA_PAIRS = 20;
const MAX_METADATA_VALUE_LENGTH = 500;

const metadataPairs = z
  .record(z.string().regex(METADATA_KEY, METADATA_KEY_RULE), looseText(MAX_METADATA_VALUE_LENGTH), {
    error: 'must be an object of texts',
  })
  .transform(inOrder)
  .meta({ maxProperties: MAX_METADATA_PAIRS });

/** zod doesn't count invalid pairs, and drops a key `__proto__` without an error. */
const metadata = z.preprocess((pairs: Readonly<Record<string, string>> | undefined, context) => {
  const keys = typeof pairs === 'object' && pairs !== null ? Object.keys(pairs) : [];
  if (keys.length > MAX_METADATA_PAIRS)
    context.addIssue({ code: 'custom', message: `must have at most ${MAX_METADATA_PAIRS} pairs` });
  if (keys.includes('__proto__'))
    context.addIssue({ code: 'custom', path: ['__proto__'], message: 'must have another name' });
  return pairs;
}, metadataPairs.optional());

export type Metadata = z.output<typeof metadataPairs>;

/** Bodies, and digests of rows, are compared in this order of keys. */
function inOrder(pairs: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(pairs).sort(([one], [other]) => (one < other ? -1 : 1)));
}

const limits = z.strictObject({
  maxFee: money.optional().describe('The highest fee'),
  minRate: rate.optional().describe('The least target amount per unit that the payer pays, fee included'),
  maxPay: positiveMoney.optional().describe('The highest amount that the payer pays, in the origin currency'),
});
export type QuoteLimits = z.output<typeof limits>;

const fields = z.strictObject({
  app: appName.default('default'),
  openId: text(128).optional(),
  clientId: identifier(),
  payerId: identifier(),
  partnerOrderId: ownId().describe(
    'Your own ID for the payout; every outcome uses it up. 1 to 64 printable ASCII characters, without quotes and backslashes, without spaces at the ends, and not "." or ".."',
  ),
  type: z.enum(PAYOUT_TYPES).describe('WITHDRAW: to an account of the seller. SUPPLIER: to a supplier'),
  instructedAmount: positiveMoney,
  originCurrency: currency(),
  targetCurrency: currency(),
  remittancePurposeCode: text(64).describe("The provider's code for the purpose of the payment"),
  platform: text().optional().describe('The sales platform, as the provider names it'),
  receiver: receiver.describe('The bank account of the beneficiary'),
  limits: limits.optional().describe('A quote outside these limits ends the payout: QUOTE_OUT_OF_LIMITS'),
  approval: z
    .enum(['none', 'required'])
    .default('none')
    .describe('required: another caller must approve the quote before the create call is sent'),
  notBefore: timeWithOffset().optional().describe('ISO 8601 with an offset: nothing is sent before'),
  metadata: metadata.optional(),
});

/** The request of a payout as its readers see it: without the numbers of the account and of the holder's identity. */
export const shownRequestSchema = fields.extend({
  instructedAmount: moneySchema,
  receiver: receiver
    .omit({ bankAccountNumber: true, idCardNumber: true })
    .extend({ accountEnd: z.string().describe('The last four characters of the account number') })
    .describe('The bank account of the beneficiary'),
  limits: limits
    .extend({
      maxFee: moneySchema.optional().describe('The highest fee'),
      maxPay: moneySchema.optional().describe('The highest amount that the payer pays'),
    })
    .optional()
    .describe('The limits of the quote'),
  metadata: metadataSchema.optional(),
});

/** A validated request: defaults filled in, amounts with two decimals. */
export type CheckedPayoutRequest = z.output<typeof fields>;
/** The request as callers send it: amounts as they wrote them, defaults absent. */
export type PayoutRequest = z.input<typeof fields>;

export const payoutRequestSchema = fields.superRefine(checkCurrencies).overwrite(withoutEmptyMetadata);
const storedRequestSchema = stored(payoutRequestSchema);

/** The provider converts into the currency of the account. (spec: Quote request) */
function checkCurrencies(
  { instructedAmount, originCurrency, targetCurrency, receiver, limits }: CheckedPayoutRequest,
  context: z.RefinementCtx,
): void {
  const mustBe = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
  // An amount in another currency says nothing about what the beneficiary receives.
  if (instructedAmount.currency !== targetCurrency)
    mustBe(['instructedAmount', 'currency'], 'must be the target currency: it is the amount to be received');
  if (receiver.bankAccountCurrency !== targetCurrency)
    mustBe(['receiver', 'bankAccountCurrency'], 'must be the target currency');
  if (limits?.maxPay && limits.maxPay.currency !== originCurrency)
    mustBe(['limits', 'maxPay', 'currency'], 'must be the origin currency');
}

/** Metadata without pairs is like an absent field. */
function withoutEmptyMetadata(request: CheckedPayoutRequest): CheckedPayoutRequest {
  const { metadata: pairs, ...others } = request;
  return pairs && Object.keys(pairs).length === 0 ? others : request;
}

/** The create call is `createCnyOrder` (spec: Create a payout (CNY)). */
const CNY_ONLY: readonly string[] = ['CNY'];

/**
 * Validates a payout request and reports every bad field. Does not throw. In a valid request, amounts have two decimals
 * and defaults are filled in (spec: Payout creation request). `targetCurrencies`: those that the provider takes.
 */
export function checkPayoutRequest(
  body: unknown,
  targetCurrencies?: readonly string[],
): CheckResult<CheckedPayoutRequest> {
  const checked = checkBody(payoutRequestSchema, body);
  if (!checked.ok) return checked;
  const errors = targetErrors(checked.value, targetCurrencies);
  return errors.length === 0 ? checked : { ok: false, errors };
}

/** The error of a request whose target currency the provider doesn't take. */
export function targetErrors(
  { targetCurrency }: Pick<CheckedPayoutRequest, 'targetCurrency'>,
  targetCurrencies = CNY_ONLY,
): FieldError[] {
  if (targetCurrencies.includes(targetCurrency)) return [];
  const message = `must be ${targetCurrencies.join(' or ')}: the provider takes no other (PAYMENTS_TARGET_CURRENCIES)`;
  return [{ path: 'targetCurrency', message }];
}

/** Reads the request of a payout that has been started, perhaps by a newer version. Does not throw. */
export function readStoredRequest(argument: unknown): CheckResult<CheckedPayoutRequest> {
  return checkBody(storedRequestSchema, argument);
}

/** Whether a start of this workflow with this argument is valid: the id names the payout of the request. */
export function isRequestOf(workflowId: string, argument: unknown): boolean {
  const request = checkBody(payoutRequestSchema, argument);
  return request.ok && payoutWorkflowId(request.value.app, request.value.partnerOrderId) === workflowId;
}
