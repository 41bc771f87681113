/** The requests: schemas with the spec's lengths and enumerations in our own spelling, and bodies as on the wire. */
import { z } from 'zod';
import { AMOUNT_PATTERN, type Money, normalizeAmount } from '../../contract/money.ts';
import type { CreatePayoutRequest, QuoteRequest } from '../../contract/provider-records.ts';
import { invalidRequest } from '../errors.ts';
import { isJson, jsonNumber } from '../exact-json.ts';
import type { OperationName } from '../operations.ts';
import { isCurrency } from './scalars.ts';

/** Spec: `client_id`, `partner_order_id`, `order_id` and `account_id` are string(64). */
const id = line(64);
/** For fields without a length in the spec. */
const short = line(64);
/** The maximum length that callers may send. */
const long = line(256);

const currency = z.string().refine((code) => isCurrency(code), 'must be 1 to 8 letters or digits');

/** Normalized to two decimals, so that the amount is always a valid JSON number. */
const money = z.object({
  currency,
  amount: z
    .string()
    .regex(AMOUNT_PATTERN, { error: 'must be decimal text of at most 16 digits and 2 decimals', abort: true })
    .refine((amount) => /[1-9]/.test(amount), 'must be more than zero')
    .transform(normalizeAmount),
});

const pathSegment = z
  .string()
  .regex(/^.{1,128}$/s, 'must have 1 to 128 characters')
  .refine((part) => part !== '.' && part !== '..', 'must not be a dot segment')
  .regex(/^[^\p{Cc}\p{Cs}/\\]*$/u, 'must not contain slashes or control characters');

export const quoteRequest = z.object({
  payerId: line(128),
  type: short,
  instructedAmount: money,
  originCurrency: currency,
  targetCurrency: currency,
});

/** Strict: a field that is missing here would silently not be sent. */
export const createPayoutRequest = z.strictObject({
  partnerOrderId: id,
  lockRateId: line(128),
  type: z.enum(['WITHDRAW', 'SUPPLIER']),
  instructedAmount: money,
  originCurrency: currency,
  targetCurrency: currency,
  remittancePurposeCode: short,
  platform: long.optional(),
  receiver: z.strictObject({
    bankCountry: short,
    bankName: long,
    bankAccountCurrency: currency,
    bankAccountNumber: short,
    bankAccountName: long,
    bankCode: short.optional(),
    bankBranchName: long.optional(),
    province: long.optional(),
    city: long.optional(),
    idCardNumber: short,
    cardHoldType: short,
  } satisfies Record<keyof CreatePayoutRequest['receiver'], z.ZodType>),
} satisfies Record<keyof CreatePayoutRequest, z.ZodType>);

/** The spec's sample has `currnecy`, its table `currency`. We send `currency`. */
export const receivingAccountRequest = z.object({
  payerId: line(128),
  currency,
  bankLocation: z.literal('Hong Kong').optional(),
  usages: z.array(long).max(64).optional(),
  purposeCode: short.optional(),
  monthSaleVolume: short.optional(),
});

export const balanceRequest = z.object({ payerId: pathSegment, currency });
export const accountDetailRequest = z.object({ accountId: pathSegment });
export const payoutOrderRequest = z.object({ orderId: pathSegment });
export const tradeKey = z.object({ clientId: id, partnerOrderId: id });

export const accountsRequest = z.object({
  clientId: id,
  accountType: z.enum(['AVAIL_ACCOUNT', 'TEMP_ACCOUNT']).optional(),
  currency: currency.optional(),
  extraInfo: z.string().max(4096).refine(isJson, 'must be JSON text').optional(),
});

export type AccountsRequest = z.input<typeof accountsRequest>;

export const codeRequest = z.object({ code: line(4096) });
export const refreshRequest = z.object({ refreshToken: line(8192) });
export const authorizationRequest = z.object({
  redirectUri: z.url({ protocol: /^https?$/ }),
  state: line(512).optional(),
  spelling: z.enum(['snake', 'camel']).optional(),
});

/** One line of text, without control characters and lone surrogates, which UTF-8 cannot encode. */
function line(max: number) {
  return z
    .string()
    .min(1)
    .max(max)
    .regex(/^[^\p{Cc}\p{Cs}]*$/u, 'must not contain control characters');
}

/** Returns the normalized request. Throws `INVALID_REQUEST` with every bad field. Messages contain no values. */
export function checked<T>(operation: OperationName, schema: z.ZodType<T>, request: unknown): T {
  const result = schema.safeParse(request);
  if (result.success) return result.data;
  const fields = result.error.issues.map(({ path, message }) => ({ path: path.join('.'), message }));
  throw invalidRequest({ operation, requestId: 'not-sent' }, fields);
}

/** The body of a request whose fields have the same names on the wire, in snake case. */
export function snakeKeys(request: object): unknown {
  const snake = (key: string) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(request).map(([key, value]) => [snake(key), value]));
}

export function quoteBody({ originCurrency, targetCurrency, ...request }: QuoteRequest): unknown {
  return {
    instructed_amount: exact(request.instructedAmount),
    exchange: { origin_currency: originCurrency, target_currency: targetCurrency },
    payer_id: request.payerId,
    type: request.type,
  };
}

/** `lockRateId` is not in the spec's table, but without it nothing would tie the create to its quote. */
export function createPayoutBody(request: CreatePayoutRequest): unknown {
  const { partnerOrderId, instructedAmount, originCurrency, targetCurrency, ...rest } = request;
  return {
    ...rest,
    outOrderId: partnerOrderId,
    instructedAmount: exact(instructedAmount),
    exchange: { originCurrency, targetCurrency },
  };
}

function exact({ currency: code, amount }: Money) {
  return { currency: code, amount: jsonNumber(amount) };
}
