/** Schemas of the control API's answers, with which the client parses them. */
import { z } from 'zod';

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
