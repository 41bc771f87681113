/**
 * What the payments service says, in our words: money as decimal text, times as ISO 8601, statuses as
 * the service wrote them. Wire spellings end in `wire/`; nothing outside this folder sees them.
 */
import type { Money } from './money.ts';
import type { Receiver } from './payout.ts';

/** Answer of `POST /v1/payments/fee` (spec: Fee and exchange quote). */
export interface Quote {
  /** Ties the quote to the creation of a single payout. Also read from `lock_fee_id`. */
  lockRateId: string;
  /** Balance of the payer account that can be spent now. */
  available: Money;
  /** Decimal text, any precision. */
  exchangeRate: string;
  originCurrency: string;
  targetCurrency: string;
  /** What the payer account must pay. */
  pay: Money;
  /** What the receiver finally gets. */
  target: Money;
  fee: Money;
}

/** What is quoted, in the spec's terms. */
export interface QuoteRequest {
  payerId: string;
  type: string;
  instructedAmount: Money;
  originCurrency: string;
  targetCurrency: string;
}

/** Body of `POST /v2/b2b/currents/createCnyOrder`. */
export interface CreatePayoutRequest {
  /** Sent as `outOrderId`; taken to be what trade queries call `partner_order_id`. */
  partnerOrderId: string;
  /** The lock of exactly one quote; sent as `lockRateId`, a field the spec's table does not list. */
  lockRateId: string;
  type: string;
  instructedAmount: Money;
  originCurrency: string;
  targetCurrency: string;
  remittancePurposeCode: string;
  platform?: string | undefined;
  receiver: Receiver;
}

/** What a code of `createCnyOrder` means, as confirmed by the service's operator. All mean "not created". */
export type CreateMeaning = 'refused' | 'lock-expired' | 'insufficient' | 'busy';

/** Data of create and of `GET /v2/b2b/currents/queryDetail/{orderId}` (spec: Payout order). */
export interface PayoutOrder {
  orderId: string;
  /** `pending`, `success`, `fail`, or whatever else the service wrote. */
  status: string;
  failReason?: string;
  pay: Money;
  target: Money;
  fee: Money;
  lockRateId?: string;
  exchangeRate?: string;
  originCurrency?: string;
  targetCurrency?: string;
  /** `receiver.outOrderId`; the spec allows null. */
  partnerOrderId?: string;
  /** The beneficiary's account, as far as the provider returns it: it must be the one that we asked for (H54). */
  bankAccountNumber?: string;
  bankAccountName?: string;
  bankName?: string;
  transactionId?: string;
}

/** Which trade: both numbers are at most 64 characters. */
export interface TradeKey {
  clientId: string;
  partnerOrderId: string;
}

/** Data of `queryResult` (spec: Payout trade result). */
export interface TradeResult {
  orderId: string;
  clientId: string;
  partnerOrderId: string;
  complete: boolean;
  /** Sum over the payments that succeeded. */
  received: Money;
  /** Sum over the payments that failed. */
  failed: Money;
  targetCurrency: string;
  /** Raw: `PROCESSING`, `FAILED`, `SUCCESS`, `PARTIAL_SUCCESS`, or an unknown value. */
  status: string;
  /** Raw: `PROCESSING`, `APPROVED`, `REJECTED`, `RETURNED`, `DECLINED`, or an unknown value. */
  auditStatus?: string;
  errorMessage?: string;
  createdAt?: string;
  finishedAt?: string;
}

/** One debited account (spec: pay_account_detail). */
export interface TradeDebit {
  accountId: string;
  accountType: string;
  pay: Money;
  fee: Money;
  actual: Money;
}

/** One payment after splitting (spec: pay_distribute_detail). */
export interface TradeSplit {
  distributeId: string;
  target: Money;
  /** Raw: `SUCCESS`, `FAILED`, or an unknown value. */
  status: string;
  finishedAt?: string;
  error?: string;
  refunded: boolean;
  refundReason?: string;
}

/** Data of `queryPayDetail` (spec: Payout trade detail). */
export interface TradeDetail {
  orderId: string;
  clientId: string;
  partnerOrderId: string;
  complete: boolean;
  received?: Money;
  failed?: Money;
  targetCurrency: string;
  status: string;
  debits: TradeDebit[];
  splits: TradeSplit[];
  createdAt?: string;
  finishedAt?: string;
}

/** Data of `account/query` (spec: Account information). */
export interface ClientAccounts {
  clientId: string;
  accounts: ClientAccount[];
  /** Rows of the answer that could not be read; absent where there are none. */
  unread?: UnreadableAccount[];
}

/** What can be read of such a row: absent fields could name any account. */
export interface UnreadableAccount {
  currency?: string;
  accountType?: string;
}

export interface ClientAccount {
  /** `AVAIL_ACCOUNT`, `TEMP_ACCOUNT`, or an unknown value. */
  accountType: string;
  available: Money;
  frozen: Money;
  currency: string;
  /** `NORMAL`, `ABNORMAL`, `CLOSED`, or an unknown value. */
  status: string;
}

export interface ApplicationToken {
  accessToken: string;
  expiresInSeconds: number;
}

export interface UserTokens {
  accessToken: string;
  openId: string;
  expiresInSeconds: number;
  refreshToken: string;
  refreshTokenExpiresInSeconds: number;
}

/** Body of `POST /v1/accounts/receiving-account`. */
export interface ReceivingAccountRequest {
  payerId: string;
  currency: string;
  bankLocation?: 'Hong Kong' | undefined;
  usages?: string[] | undefined;
  /** Required when the payer is Indian. */
  purposeCode?: string | undefined;
  monthSaleVolume?: string | undefined;
}

/** `GET /v1/accounts/receiving-account/{payer_id}/{currency}`. */
export interface ReceivingAccountBalance {
  balance: Money;
  accountIds: string[];
}

/** The spec does not show these fields: kept as the service wrote them, numbers as exact text. */
export interface OpaqueRecord {
  [field: string]: unknown;
}
