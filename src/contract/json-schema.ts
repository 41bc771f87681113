/** JSON Schemas of requests and responses, for the OpenAPI document and `schemas/`. */
import { z } from 'zod';

/** Fields whose values never grow in 1.x. */
const CLOSED: readonly string[] = ['outcome', 'status'];

/** `input`: as callers send it. `output`: as the API server sends it. `name`: of the schema, for ambiguous fields. */
export function jsonSchema(schema: z.ZodType, io: 'input' | 'output', name = '') {
  const made = z.toJSONSchema(schema, { io });
  complete(made, io, name);
  return made;
}

interface Schema {
  description?: string;
  properties?: Record<string, unknown>;
  [keyword: string]: unknown;
}

/** Describes the fields that have no description. `field`: the field whose schema it is, or the name of the schema. */
function complete(schema: unknown, io: 'input' | 'output', field: string): void {
  if (!isSchema(schema)) return;
  if (io === 'output') acceptMore(schema, field);
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    const description = FIELDS[`${field}.${name}`] ?? FIELDS[name];
    if (isSchema(inner) && description !== undefined) inner.description ??= description;
    complete(inner, io, name);
  }
  for (const keyword of ['items', 'additionalProperties', 'allOf', 'anyOf', 'oneOf'])
    for (const inner of [schema[keyword]].flat()) complete(inner, io, field);
}

/** Later versions add fields and codes to what they send, so a schema of a response accepts any: known codes are examples. */
function acceptMore(schema: Schema, field: string): void {
  if (schema['additionalProperties'] === false) delete schema['additionalProperties'];
  delete schema['propertyNames'];
  if (schema['enum'] === undefined || CLOSED.includes(field)) return;
  schema['examples'] = schema['enum'];
  delete schema['enum'];
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Descriptions of fields that recur in many schemas. A key is the name of a field, after that of the field around it if the
 * name alone is ambiguous. A `describe` in a schema takes precedence.
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
  available: 'The available balance of the account',
  frozen: 'The frozen balance of the account',
  balance: 'What the payer has received in this currency',
  // A payout request.
  app: 'The application whose credentials the provider sees: 1 to 32 lowercase letters, digits and hyphens',
  openId: 'The user for whom the application acts, if user tokens are used',
  clientId: 'The `client_id` of the trade queries. At most 64 characters',
  payerId: 'The payer at the provider. At most 64 characters',
  partnerOrderId: "The caller's own ID of the payout, unique within its application",
  metadata:
    "The caller's own keys and texts. At most 20 pairs; a key has 1 to 40 characters, a text at most 500. State and result repeat them; the provider never sees them",
  // State and result of a payout or a request.
  state: 'The state now',
  result: 'The result. Absent until it finishes',
  phase: 'The phase; DONE when it has finished. `docs/reference.md` explains each phase',
  needsAttention: 'Whether it needs an operator',
  reasons: 'Why it needs an operator. Empty unless needsAttention is true',
  'reasons.code': 'A stable attention code',
  reason: 'Why there is no payment, or no account. Absent otherwise',
  'reason.code': 'A stable reason code: see the schemas ReasonCode and ReceivingAccountReasonCode',
  'problem.code': 'A stable reason code: see the schema ReasonCode',
  message: 'Details in words',
  outcome: 'The outcome. Absent until it finishes',
  quote: 'The quote that was accepted, or that awaits approval',
  lockRateId: "The provider's ID of the lock, which ties the quote to one create call",
  orderId: "The provider's ID of the order. Absent without an order",
  distributeId: "The provider's ID of the split",
  refundReason: "The provider's reason for the return",
  splits: 'The payments into which the provider divided the order',
  accountType: "The provider's type of the account, such as AVAIL_ACCOUNT",
  accountId: "The provider's ID of the account",
  accountIds: "The provider's IDs of the receiving accounts of this payer and currency",
  requestId: "The caller's own ID of the request, unique within its application",
  workflowId: 'The ID of the workflow in Temporal',
  runId: 'The ID of its run in Temporal',
  // Decisions.
  by: 'The name of the key, or of the signed-in user',
  note: 'The reason for the decision',
  'body.reason': 'The reason for the cancellation',
  created: 'Whether the operator knows that the provider has created it',
  'body.orderId': "The provider's ID of the order, whose IDs and amounts are compared first",
  'body.accountId': "The provider's ID of the account, whose detail is compared first",
  then: 'end: finish without an order or account. retry: confirm once more, then send again',
  // Batches.
  batchId: "The caller's own ID of the batch: 1 to 64 letters, digits, dots, hyphens and underscores",
  count: 'The number of rows',
  missing: 'The ranges of rows that are still missing',
  offset: 'The first row of the range. Rows count from 0',
  // Accounts.
  accounts: 'The accounts of the client',
  'accounts.status': "The provider's status of the account, such as NORMAL",
  // Problems (RFC 9457).
  type: 'The kind of problem: a URI reference, relative to the API server',
  path: 'The field, such as receiver.bankName; in a batch, after the number of its row',
  kind: 'The last part of `type` of a problem document',
  // Notifications.
  'accepted.received':
    'delivered: to its payout. ended: the payout has finished. unknown: kept for two minutes, until its payout is known',
  // Reports.
  SUCCESS: 'Payouts of which every split succeeded',
  PARTIAL_SUCCESS: 'Payouts of which some splits succeeded',
  FAILED: 'Payouts of which no split succeeded',
  NOT_CREATED: 'Payouts without an order',
  code: 'A stable code',
  differences: 'What differs from the result that the payout reported',
  returned: 'The splits whose amounts came back',
};
