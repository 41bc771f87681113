/** JSON Schemas of requests and responses, for the OpenAPI document and `schemas/`. */
import { z } from 'zod';

/** Fields whose values never grow in 1.x. */
const CLOSED: readonly string[] = ['outcome', 'status'];

/** `input`: as callers send it. `output`: as the API server sends it. `name`: of the schema, for ambiguous fields. */
export function jsonSchema(schema: z.ZodType, io: 'input' | 'output', name = '') {
  const made = z.toJSONSchema(schema, { io });
  describeFields(made, name);
  if (io === 'output') open(made);
  return made;
}

/** Later versions add fields and codes to what they send, so a schema of an answer accepts any: the known ones are examples. */
function open(schema: unknown, field = ''): void {
  if (typeof schema !== 'object' || schema === null) return;
  acceptMore(schema, field);
  for (const [name, part] of Object.entries(schema)) {
    if (name === 'examples') continue;
    if (name !== 'properties') open(part, field);
    else for (const [property, of] of Object.entries(Object(part))) open(of, property);
  }
}

function acceptMore(
  schema: { additionalProperties?: unknown; propertyNames?: unknown; enum?: unknown },
  field: string,
): void {
  if (schema.additionalProperties === false) delete schema.additionalProperties;
  delete schema.propertyNames;
  if (schema.enum === undefined || CLOSED.includes(field)) return;
  Object.assign(schema, { examples: schema.enum });
  delete schema.enum;
}

/**
 * What the fields of requests and answers mean, with their units. A key is the name of a field, with the fields around it
 * if the name alone is ambiguous. The schemas in `schemas/` and the OpenAPI document contain these texts; a `describe`
 * in a schema takes precedence.
 */
export const FIELDS: Readonly<Record<string, string>> = {
  // Money and exchange.
  amount: 'Decimal text in major units of the currency, never a JSON number',
  currency: 'ISO 4217 code: three uppercase letters',
  instructedAmount: 'The amount to be received, in the target currency. More than zero',
  originCurrency: 'ISO 4217 code of the currency that the payer pays in',
  targetCurrency:
    'ISO 4217 code of the currency of the beneficiary account: CNY, unless PAYMENTS_TARGET_CURRENCIES lists others',
  exchangeRate: 'Decimal text, as the provider states it',
  pay: 'What the payer pays, in the origin currency',
  target: 'What the beneficiary receives, in the target currency',
  fee: "The provider's fee",
  actual: 'What the provider charged to the account',
  available: 'The available balance of the account',
  frozen: 'The frozen balance of the account',
  balance: 'What the payer has received in this currency',
  // A payout request.
  app: 'The application whose credentials the provider sees: 1 to 32 lowercase letters, digits and hyphens',
  openId: 'The user for whom the application acts, if user tokens are used',
  clientId: 'The `client_id` of the trade queries. At most 64 characters',
  payerId: 'The payer at the provider. At most 64 characters',
  partnerOrderId: "The caller's own id of the payout, unique within its application",
  'PayoutRequest.type': 'WITHDRAW: to an account of the seller. SUPPLIER: to a supplier',
  remittancePurposeCode: "The provider's code for the purpose of the payment",
  platform: 'The sales platform, as the provider names it',
  receiver: 'The bank account of the beneficiary',
  bankCountry: 'Country or area code of the bank',
  bankName: 'Name of the bank',
  bankAccountCurrency: 'ISO 4217 code of the currency of the account: the target currency',
  bankAccountNumber: 'Number of the account or card: digits, and letters or hyphens',
  bankAccountName: 'Name on the account or card',
  bankCode: 'Code of the bank: letters, digits and hyphens',
  bankBranchName: 'Branch or address of the bank',
  province: 'Province of the bank',
  city: 'City of the bank',
  idCardNumber: 'Identity number of the holder: digits, and letters, hyphens, slashes or parentheses',
  cardHoldType: 'Type of the holder, such as Personal',
  limits:
    'A quote outside these limits is not accepted: the payout ends as NOT_CREATED with QUOTE_OUT_OF_LIMITS',
  maxFee: 'The highest fee',
  minRate:
    'The least that the beneficiary receives per unit that the payer pays, fee included, as decimal text',
  maxPay: 'The highest amount that the payer pays, in the origin currency',
  'PayoutRequest.approval': 'required: another caller must approve the quote before the create is sent',
  notBefore: 'ISO 8601 with an offset: nothing is sent to the provider before this time',
  metadata:
    "The caller's own pairs of a key and a text, for people and for the caller's programs. At most 20; a key has 1 to 40 characters, a text at most 500. State and result repeat them; the provider never sees them",
  // State and result of a payout or a request.
  state: 'The state now',
  result: 'The result. Absent before the end',
  phase: 'Where it is on its way; DONE after the end. `docs/reference.md` explains each phase',
  sentence: 'The state in words',
  nextStep: 'What happens next, or what a person should do, in words',
  needsAttention: 'Whether a person should look at it',
  reasons: 'Why a person should look at it. Empty unless needsAttention is true',
  'reasons.code': 'A stable attention code',
  reason: 'Why there is no payment, or no account. Absent otherwise',
  'reason.code': 'A stable reason code: see the schemas ReasonCode and ReceivingAccountReasonCode',
  'problem.code': 'A stable reason code: see the schema ReasonCode',
  message: 'Details for a person',
  outcome: 'How it ended. Absent before the end',
  orderId: "The provider's id of the order. Absent without an order",
  quote: 'The quote that was accepted, or that awaits approval',
  lockRateId: "The provider's id of the lock, which ties the quote to one create",
  auditStatus: "The provider's audit of the payout",
  debits: 'The charges to accounts of the payer',
  splits: 'The payments into which the provider divided the order',
  distributeId: "The provider's id of the split",
  'splits.status': 'Whether the beneficiary received the split',
  error: "The provider's reason why the split failed",
  refunded: 'Whether the split succeeded and its amount came back',
  refundReason: "The provider's reason of the return",
  learnedBy: 'How the end became known',
  accountType: "The provider's type of the account, such as AVAIL_ACCOUNT",
  accountId: "The provider's id of the account",
  accountIds: "The provider's ids of the receiving accounts of this payer and currency",
  requestId: "The caller's own id of the request, unique within its application",
  workflowId: 'The id of the workflow in Temporal',
  runId: 'The id of its run in Temporal',
  // Decisions.
  decisions: 'The decisions of people that counted, the latest last',
  'decisions.action': 'What the person decided',
  by: 'The name of the person, or of the key',
  note: 'The reason of the decision, for people',
  'body.reason': 'The reason of the cancellation, for people',
  created: 'Whether the person knows that the provider has created it',
  'body.orderId': "The provider's id of the order, whose ids and amounts are compared first",
  'body.accountId': "The provider's id of the account, whose detail is compared first",
  then: 'end: it ends without a creation. retry: it confirms once more, then sends again',
  // Batches.
  batchId: "The caller's own id of the batch: 1 to 64 letters, digits, dots, hyphens and underscores",
  count: 'The number of rows',
  added: 'The rows that were added so far',
  missing: 'The ranges of rows that were not added yet',
  offset: 'The first row of the range. Rows count from 0',
  started: 'The rows whose payout this batch started',
  joined: 'The rows whose payout already existed with the same body',
  done: 'The rows that have ended',
  rejected: 'Of these, the rows with a conflict or with bad input',
  needingAttention: 'The open payouts that a person should look at',
  canceled: 'Whether the batch was canceled: it starts no further row',
  phases: 'The open payouts by phase',
  outcomes: 'The ended rows by outcome',
  rows: 'The numbers of the rows that a person should look at, by outcome. Rows count from 0',
  // Accounts.
  accounts: 'The accounts of the client',
  'accounts.status': "The provider's status of the account, such as NORMAL",
  // Problems (RFC 9457).
  title: 'The kind of problem in words',
  type: 'The kind of problem: a URI reference, relative to the API server',
  'Problem.status': 'The HTTP status',
  detail: 'What is wrong with this request, in words',
  path: 'The field, such as receiver.bankName; in a batch, after the number of its row',
  kind: 'The last part of `type` of a problem document',
  // Notifications.
  'accepted.received':
    'delivered: to its payout. ended: the payout has ended. unknown: kept for two minutes, until its payout is known',
  // Reports.
  environment: 'The environment of the provider: test, sandbox or production',
  apps: 'Each application with payouts that ended on this day, or that are open',
  SUCCESS: 'Payouts of which every split succeeded',
  PARTIAL_SUCCESS: 'Payouts of which some splits succeeded',
  FAILED: 'Payouts of which no split succeeded',
  NOT_CREATED: 'Payouts without an order',
  underAnHour: 'Open for less than an hour',
  underADay: 'Open for an hour or longer, and less than a day',
  underAWeek: 'Open for a day or longer, and less than a week',
  older: 'Open for a week or longer',
  changes: 'The payouts that were found changed after their end',
  totalChanges: 'The number of such payouts, also of those that are not listed',
  code: 'A stable code',
  differences: 'What differs from the result that the payout reported',
  returned: 'The splits whose amounts were returned after the end',
  checks: 'How often the follow-up has checked the payout',
};

/** A JSON Schema, as zod makes it. */
interface Schema {
  $ref?: string;
  description?: string;
  properties?: Record<string, unknown>;
  [keyword: string]: unknown;
}

/** Adds the descriptions to all fields of `schema` that have none. `name`: of the schema, for ambiguous fields. */
export function describeFields(schema: unknown, name: string): void {
  if (!isSchema(schema)) return;
  for (const [field, inner] of Object.entries(schema.properties ?? {})) {
    const description = descriptionOf(name, field);
    if (isSchema(inner) && inner.$ref === undefined && description !== undefined)
      inner.description ??= description;
    describeFields(inner, field);
  }
  for (const keyword of ['items', 'additionalProperties', 'allOf', 'anyOf', 'oneOf']) {
    const inner = schema[keyword];
    for (const one of Array.isArray(inner) ? inner : [inner]) describeFields(one, name);
  }
}

/** Undefined if there is none. */
export function descriptionOf(parent: string, field: string): string | undefined {
  const key = [`${parent}.${field}`, field].find((one) => Object.hasOwn(FIELDS, one));
  return key === undefined ? undefined : FIELDS[key];
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
