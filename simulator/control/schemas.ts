/** Schemas of the control API: its requests, and its answers, with which the client parses them. */
import { z } from 'zod';
import { parseMinor } from '../money.ts';

const amountText = z
  .string()
  .refine((text) => parseMinor(text) !== undefined, 'must be an amount such as "10.00"');

export const accountsSchema = z
  .array(
    z.strictObject({
      accountType: z.string().default('AVAIL_ACCOUNT'),
      currency: z.string(),
      available: amountText,
      frozen: amountText.default('0.00'),
      status: z.string().default('NORMAL'),
    }),
  )
  .nullable();
export type AccountsInput = z.input<typeof accountsSchema>;

/** A JSON merge patch for the data of one operation's answers about this order; null removes the patch. */
const answerPatch = z.record(z.string(), z.unknown()).nullable();

export const orderChangeSchema = z.strictObject({
  /** A final status ends the order and notifies the application as the scenario says. */
  status: z.string().optional(),
  auditStatus: z.string().optional(),
  complete: z.boolean().optional(),
  v2Status: z.string().nullable().optional(),
  errorMsg: z.string().nullable().optional(),
  lockRateId: z.string().nullable().optional(),
  /** Whether trade queries find the order. */
  visible: z.boolean().optional(),
  /** The `client_id` that trade answers name instead of the requested one. */
  echoClientId: z.string().nullable().optional(),
  /** The account that the order pays. */
  receiver: z
    .strictObject({
      bankAccountNumber: z.string().optional(),
      bankAccountName: z.string().optional(),
      bankName: z.string().optional(),
    })
    .optional(),
  splits: z
    .array(
      z.strictObject({
        index: z.number().int().min(0),
        status: z.string().optional(),
        amount: amountText.optional(),
        refund: z.boolean().optional(),
        refundReason: z.string().optional(),
      }),
    )
    .optional(),
  answers: z
    .strictObject({
      createCnyOrder: answerPatch.optional(),
      queryDetail: answerPatch.optional(),
      queryResult: answerPatch.optional(),
      queryPayDetail: answerPatch.optional(),
    })
    .optional(),
});
export type OrderChange = z.input<typeof orderChangeSchema>;
export type ParsedOrderChange = z.output<typeof orderChangeSchema>;

export const plantedOrderSchema = z.strictObject({
  partnerOrderId: z.string(),
  /** Default: the first application. */
  appId: z.string().optional(),
  payerId: z.string().default('somebody-else'),
  instructedAmount: z
    .strictObject({ currency: z.string(), amount: amountText })
    .default({ currency: 'CNY', amount: '100.00' }),
  originCurrency: z.string().default('USD'),
  targetCurrency: z.string().default('CNY'),
  receiver: z
    .strictObject({ bankAccountNumber: z.string(), bankAccountName: z.string(), bankName: z.string() })
    .default({
      bankAccountNumber: '6217000000009999999',
      bankAccountName: 'Somebody Else',
      bankName: 'Another Bank',
    }),
  scenario: z.string().default('success'),
});
export type PlantedOrderInput = z.input<typeof plantedOrderSchema>;

export const notifySchema = z.strictObject({
  partnerOrderId: z.string(),
  /** Replaces fields of the true notification. */
  overrides: z
    .strictObject({
      orderId: z.string().nullable().optional(),
      partnerOrderId: z.string().nullable().optional(),
      status: z.string().optional(),
      rawBody: z.string().optional(),
    })
    .default({}),
  signature: z.enum(['right', 'forged', 'none']).default('right'),
  times: z.number().int().min(1).max(1000).default(1),
  /** Default: the order's application, or else the first one. */
  appId: z.string().optional(),
});
export type NotifyInput = z.input<typeof notifySchema>;

export const expireSchema = z.strictObject({
  kind: z.enum(['application', 'user']).optional(),
  openId: z.string().optional(),
  refresh: z.boolean().optional(),
});
export type ExpireInput = z.input<typeof expireSchema>;

export const authorizeSchema = z.strictObject({ appId: z.string(), openId: z.string().default('user-1') });
export type AuthorizeInput = z.input<typeof authorizeSchema>;

export const scenarioSchema = z.strictObject({ scenario: z.string() });

export const callFilterSchema = z.strictObject({
  partnerOrderId: z.string().optional(),
  operation: z.string().optional(),
});
export type CallFilter = z.input<typeof callFilterSchema>;

const money = z.object({ currency: z.string(), amount: z.string() });
const servedAs = z.union([z.number(), z.literal('dropped')]).nullable();
const code = z.union([z.number(), z.string()]).nullable();

export const orderRecord = z.object({
  orderId: z.string(),
  partnerOrderId: z.string().nullable(),
  appId: z.string(),
  payerId: z.string(),
  scenario: z.string(),
  status: z.string(),
  auditStatus: z.string(),
  complete: z.boolean(),
  lockRateId: z.string().nullable(),
  exchangeRate: z.string(),
  /** The account that the order pays. */
  beneficiary: z.object({
    bankAccountNumber: z.string(),
    bankAccountName: z.string(),
    bankName: z.string(),
  }),
  instructed: money,
  /** The debit. */
  pay: money,
  target: money,
  fee: money,
  /** Returned to the payer for failed splits. */
  returned: money,
  splits: z.array(
    z.object({ distributeId: z.string(), target: money, status: z.string(), refunded: z.boolean() }),
  ),
  refunds: z.number(),
  createdAt: z.string(),
  finishedAt: z.string().nullable(),
});
export type OrderRecord = z.output<typeof orderRecord>;

export const callRecord = z.object({
  at: z.string(),
  atMs: z.number(),
  operation: z.string(),
  appId: z.string().nullable(),
  partnerOrderId: z.string().nullable(),
  status: servedAs,
  code,
  token: z.enum(['valid', 'expired', 'invalid', 'missing', 'not-needed']),
  fault: z.string().nullable(),
});

export const createRecord = z.object({
  at: z.string(),
  atMs: z.number(),
  body: z.string(),
  partnerOrderId: z.string().nullable(),
  orderId: z.string().nullable(),
  effect: z.enum(['pending', 'committed', 'refused', 'dropped']),
  /** Age of the lock when the order was created. */
  lockAgeMs: z.number().nullable(),
  answered: servedAs,
  code,
});

export const notificationRecord = z.object({
  at: z.string(),
  partnerOrderId: z.string().nullable(),
  mode: z.string(),
  attempt: z.number(),
  body: z.string(),
  outcome: z.union([z.number(), z.string()]),
});

export const ledgerOf = z.object({
  partnerOrderId: z.string(),
  orders: z.array(orderRecord),
  creates: z.array(createRecord),
  /** Debits for this `partnerOrderId`. More than one is a double payment. */
  debits: z.number(),
  /** The sum of those debits, by currency. */
  debited: z.array(money),
  notifications: z.array(notificationRecord),
});
export type LedgerOf = z.output<typeof ledgerOf>;

export const receivingAccountRecord = z.object({
  accountId: z.string(),
  payerId: z.string(),
  currency: z.string(),
  bankLocation: z.string(),
  createdAt: z.string(),
});

export const ledger = z.object({
  orders: z.array(orderRecord),
  creates: z.array(createRecord),
  notifications: z.array(notificationRecord),
  debits: z.record(z.string(), z.object({ count: z.number(), debited: z.array(money) })),
  /** Each `partnerOrderId` with more than one debit. */
  paidTwice: z.array(z.string()),
  receivingAccounts: z.array(receivingAccountRecord),
});
export type LedgerRecord = z.output<typeof ledger>;

const appCounts = z.object({
  calls: z.number(),
  served: z.number(),
  rejected: z.number(),
  maxCallsInAnySecond: z.number(),
  maxServedInAnySecond: z.number(),
});

export const counts = z.object({
  calls: z.number(),
  byOperation: z.record(z.string(), z.number()),
  /** Answers 429 for any reason; `rejected` counts only those of the rate limit. */
  answered429: z.number(),
  rejected: z.number(),
  /** The busiest second of any application: all calls, and only the served ones. */
  maxCallsInAnySecond: z.number(),
  maxServedInAnySecond: z.number(),
  apps: z.record(z.string(), appCounts),
  creates: z.number(),
  orders: z.number(),
  debits: z.number(),
  paidTwice: z.number(),
  notifications: z.number(),
});
export type Counts = z.output<typeof counts>;

export const faultReport = z.object({
  id: z.string(),
  operation: z.string(),
  partnerOrderId: z.string().nullable(),
  kinds: z.array(z.string()),
  matched: z.number(),
  hit: z.number(),
  held: z.number(),
});
