/**
 * The provider's records in our own spelling: money as decimal text, times as ISO 8601, statuses as the provider
 * wrote them. Only `src/payments/wire` knows the spellings on the wire.
 */
import type { Money } from './money.ts';
import type { Receiver } from './payout.ts';

/** The answer of `POST /v1/payments/fee` (spec: Fee and exchange quote). */
export interface Quote {
  /** Ties the quote to one create. Also read from `lock_fee_id`. */
  lockRateId: string;
  /** The payer account's available balance. */
  available: Money;
  /** Decimal text of any precision. */
  exchangeRate: string;
  originCurrency: string;
  targetCurrency: string;
  /** The amount that the payer account pays. */
  pay: Money;
  /** The amount that the beneficiary receives. */
  target: Money;
  fee: Money;
}

/** The body of `POST /v1/payments/fee`. */
export interface QuoteRequest {
  payerId: string;
  type: string;
  instructedAmount: Money;
  originCurrency: string;
  targetCurrency: string;
}

/** The body of `POST /v2/b2b/currents/createCnyOrder` (spec: Payout creation request). */
export interface CreatePayoutRequest {
  /** Sent as `outOrderId`. We assume that it is the `partner_order_id` of the trade queries. */
  partnerOrderId: string;
  /** The lock of exactly one quote. Sent as `lockRateId`, a field that the spec's table does not list. */
  lockRateId: string;
  type: string;
  instructedAmount: Money;
  originCurrency: string;
  targetCurrency: string;
  remittancePurposeCode: string;
  platform?: string | undefined;
  receiver: Receiver;
}

/** The meaning of a code of `createCnyOrder`, as the provider states it. Every meaning is a kind of "not created". */
export type CreateMeaning = 'refused' | 'lock-expired' | 'insufficient' | 'busy';

/** The data of the create and of `GET /v2/b2b/currents/queryDetail/{orderId}` (spec: Payout order). */
export interface PayoutOrder {
  orderId: string;
  /** As the provider wrote it: `pending`, `success`, `fail`, or an unknown value. */
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
  /** The beneficiary's account, as far as the provider returns it. It must be the requested account (H54). */
  bankAccountNumber?: string;
  bankAccountName?: string;
  bankName?: string;
  transactionId?: string;
}

/** Identifies a trade in the trade queries. Both ids have at most 64 characters. */
export interface TradeKey {
  clientId: string;
  partnerOrderId: string;
}

/** The data of `queryResult` (spec: Payout trade result). */
export interface TradeResult {
  orderId: string;
  clientId: string;
  partnerOrderId: string;
  complete: boolean;
  /** The sum of the splits that succeeded. */
  received: Money;
  /** The sum of the splits that failed. */
  failed: Money;
  targetCurrency: string;
  /** As the provider wrote it: `PROCESSING`, `FAILED`, `SUCCESS`, `PARTIAL_SUCCESS`, or an unknown value. */
  status: string;
  /** As the provider wrote it: `PROCESSING`, `APPROVED`, `REJECTED`, `RETURNED`, `DECLINED`, or an unknown value. */
  auditStatus?: string;
  errorMessage?: string;
  createdAt?: string;
  finishedAt?: string;
}

/** One debit (spec: Payout trade detail, `pay_account_detail`). */
export interface TradeDebit {
  accountId: string;
  accountType: string;
  pay: Money;
  fee: Money;
  actual: Money;
}

/** One split (spec: Payout trade detail, `pay_distribute_detail`). */
export interface TradeSplit {
  distributeId: string;
  target: Money;
  /** As the provider wrote it: `SUCCESS`, `FAILED`, or an unknown value. */
  status: string;
  finishedAt?: string;
  error?: string;
  refunded: boolean;
  refundReason?: string;
}

/** The data of `queryPayDetail` (spec: Payout trade detail). */
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

/** The data of `account/query` (spec: Account information). */
export interface ClientAccounts {
  clientId: string;
  accounts: ClientAccount[];
  /** Rows of the answer that could not be parsed; absent if there are none. */
  unread?: UnreadableAccount[];
}

/** The readable fields of a row that could not be parsed. An absent field may have any value. */
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

/** Spec: Application token. */
export interface ApplicationToken {
  accessToken: string;
  expiresInSeconds: number;
}

/** Spec: Token record. */
export interface UserTokens {
  accessToken: string;
  openId: string;
  expiresInSeconds: number;
  refreshToken: string;
  refreshTokenExpiresInSeconds: number;
}

/** The body of `POST /v1/accounts/receiving-account` (spec: Receiving account request). */
export interface ReceivingAccountRequest {
  payerId: string;
  currency: string;
  bankLocation?: 'Hong Kong' | undefined;
  usages?: string[] | undefined;
  /** Required when the payer is Indian. */
  purposeCode?: string | undefined;
  monthSaleVolume?: string | undefined;
}

/**
 * The answer of `GET /v1/accounts/receiving-account/{payer_id}/{currency}` (spec: Receiving account balance response).
 */
export interface ReceivingAccountBalance {
  balance: Money;
  accountIds: string[];
}

/** A record whose fields the spec does not list: kept as the provider wrote it, with numbers as exact text. */
export interface OpaqueRecord {
  [field: string]: unknown;
}
