/** The provider's records: money as decimal text, times as ISO 8601, statuses as the provider wrote them. Only
 * `src/payments/wire` knows the spellings on the wire. */

import type { Money } from './money.ts';
import type { AgreedQuote, Debit, Split } from './payout.ts';
import type { PayoutRequest } from './payout-request.ts';

/** The response of `POST /v1/payments/fee` (spec: Fee and exchange quote). */
export interface Quote extends AgreedQuote {
  /** The payer account's available balance, of any sign and scale. Absent if it can't be read. */
  available?: Money;
  originCurrency: string;
  targetCurrency: string;
}

/** The body of `POST /v1/payments/fee`. */
export interface QuoteRequest
  extends Pick<PayoutRequest, 'payerId' | 'instructedAmount' | 'originCurrency' | 'targetCurrency'> {
  type: string;
}

/** The body of `POST /v2/b2b/currents/createCnyOrder` (spec: Payout creation request). */
export interface CreatePayoutRequest
  extends Omit<QuoteRequest, 'payerId'>,
    Pick<PayoutRequest, 'partnerOrderId' | 'remittancePurposeCode' | 'platform' | 'receiver'> {
  /** The lock of exactly one quote. Sent as `lockRateId`, a field that the spec's table doesn't list. */
  lockRateId: string;
}

/** The meaning of a code of `createCnyOrder`, as the provider states it. Each one is confirmed before it applies (H230). */
export type CreateMeaning =
  | 'refused'
  | 'lock-expired'
  | 'insufficient'
  /** The call wasn't served. */
  | 'busy'
  /** The `outOrderId` was used before. */
  | 'duplicate';

/** The meaning of a code of an account check or a quote, as the provider states it. */
export type QuoteMeaning = 'refused' | 'insufficient';

/** The data of `createCnyOrder` and of `GET /v2/b2b/currents/queryDetail/{orderId}` (spec: Payout order). */
export interface PayoutOrder {
  orderId: string;
  /** The provider's text: `pending`, `success`, `fail`, or an unknown value. */
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

/** The fields that result and detail share. */
interface Trade extends TradeKey {
  orderId: string;
  complete: boolean;
  targetCurrency: string;
  /** The provider's text: `PROCESSING`, `FAILED`, `SUCCESS`, `PARTIAL_SUCCESS`, or an unknown value. */
  status: string;
  createdAt?: string;
  finishedAt?: string;
}

/** The data of `queryResult` (spec: Payout trade result). */
export interface TradeResult extends Trade {
  /** The sum of the splits that succeeded. */
  received: Money;
  /** The sum of the splits that failed. */
  failed: Money;
  /** The provider's text: `PROCESSING`, `APPROVED`, `REJECTED`, `RETURNED`, `DECLINED`, or an unknown value. */
  auditStatus?: string;
  errorMessage?: string;
}

/** One split (spec: Payout trade detail, `pay_distribute_detail`). */
export interface TradeSplit extends Omit<Split, 'status'> {
  /** The provider's text: `SUCCESS`, `FAILED`, or an unknown value. */
  status: string;
}

/** The data of `queryPayDetail` (spec: Payout trade detail). */
export interface TradeDetail extends Trade {
  received?: Money;
  failed?: Money;
  debits: Debit[];
  splits: TradeSplit[];
}

/** The data of `account/query` (spec: Account information). */
export interface ClientAccounts {
  clientId: string;
  accounts: ClientAccount[];
  /** Rows of the response that couldn't be parsed; absent if there are none. */
  unread?: UnreadableAccount[];
}

/** The readable fields of a row that couldn't be parsed. An absent field may have any value. */
export interface UnreadableAccount {
  currency?: string;
  accountType?: string;
}

export interface ClientAccount {
  /** `AVAIL_ACCOUNT`, `TEMP_ACCOUNT`, or an unknown value. */
  accountType: string;
  /** Any sign and scale. Absent if they can't be read. */
  available?: Money;
  frozen?: Money;
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
export interface ReceivingAccountBody {
  payerId: string;
  currency: string;
  bankLocation?: 'Hong Kong' | undefined;
  usages?: string[] | undefined;
  /** Required when the payer is Indian. */
  purposeCode?: string | undefined;
  monthSaleVolume?: string | undefined;
}

/** The response of `GET /v1/accounts/receiving-account/{payer_id}/{currency}` (spec: Receiving account balance response). */
export interface ReceivingAccountBalance {
  /** Any sign and scale. Absent if it can't be read. */
  balance?: Money;
  accountIds: string[];
}

/** A record whose fields the spec doesn't list: kept as the provider wrote it, with numbers as exact text. */
export type OpaqueRecord = Record<string, unknown>;
