/** The payments service as one object: every operation of the spec, one method each. */

import type {
  ApplicationToken,
  ClientAccounts,
  CreatePayoutRequest,
  OpaqueRecord,
  PayoutOrder,
  Quote,
  QuoteRequest,
  ReceivingAccountBalance,
  ReceivingAccountRequest,
  TradeDetail,
  TradeKey,
  TradeResult,
  UserTokens,
} from '../domain/provider-records.ts';
import { type AccountsRequest, accounts } from './accounts.ts';
import * as oauth from './oauth.ts';
import type { CallOptions, PaymentsClientOptions } from './options.ts';
import * as orders from './payout-orders.ts';
import { quote } from './quotes.ts';
import * as receiving from './receiving-accounts.ts';
import { RequestPath } from './request.ts';
import { checkedAddress } from './target.ts';
import { tradeDetail, tradeResult } from './trades.ts';

/**
 * Each method sends at most one HTTP request and rejects only with a `PaymentsError`, whose
 * `mayHaveTakenEffect` says whether the service may have done what was asked. Nothing is retried here.
 */
export class PaymentsClient {
  readonly #path: RequestPath;

  /** Throws `PaymentsSettingError` when an address may not be talked to. */
  constructor(options: PaymentsClientOptions) {
    checkedAddress('authUrl', options.authUrl, options.allowedHosts);
    this.#path = new RequestPath(options);
  }

  /** Builds a link, calls nobody. Throws `InvalidRequestError`. */
  authorizationUrl(link: oauth.AuthorizationLink = {}): URL {
    return oauth.authorizationUrl(this.#path.options, link);
  }

  exchangeCode(code: string, call?: CallOptions): Promise<UserTokens> {
    return oauth.exchangeCode(this.#path, code, call);
  }

  /** With `openId` in `call`, an answer for another user is rejected. */
  refreshUserToken(refreshToken: string, call?: CallOptions): Promise<UserTokens> {
    return oauth.refreshUserToken(this.#path, refreshToken, call);
  }

  applicationToken(call?: CallOptions): Promise<ApplicationToken> {
    return oauth.applicationToken(this.#path, call);
  }

  ping(call?: CallOptions & { dated?: (date: string) => void }): Promise<void> {
    return oauth.ping(this.#path, call);
  }

  openReceivingAccount(request: ReceivingAccountRequest, call?: CallOptions): Promise<OpaqueRecord> {
    return receiving.openReceivingAccount(this.#path, request, call);
  }

  receivingAccountBalance(
    payerId: string,
    currency: string,
    call?: CallOptions,
  ): Promise<ReceivingAccountBalance> {
    return receiving.receivingAccountBalance(this.#path, payerId, currency, call);
  }

  receivingAccountDetail(accountId: string, call?: CallOptions): Promise<OpaqueRecord> {
    return receiving.receivingAccountDetail(this.#path, accountId, call);
  }

  quote(request: QuoteRequest, call?: CallOptions): Promise<Quote> {
    return quote(this.#path, request, call);
  }

  createPayout(request: CreatePayoutRequest, call?: CallOptions): Promise<PayoutOrder> {
    return orders.createPayout(this.#path, request, call);
  }

  payoutOrder(orderId: string, call?: CallOptions): Promise<PayoutOrder> {
    return orders.payoutOrder(this.#path, orderId, call);
  }

  tradeResult(key: TradeKey, call?: CallOptions): Promise<TradeResult> {
    return tradeResult(this.#path, key, call);
  }

  tradeDetail(key: TradeKey, call?: CallOptions): Promise<TradeDetail> {
    return tradeDetail(this.#path, key, call);
  }

  accounts(request: AccountsRequest, call?: CallOptions): Promise<ClientAccounts | null> {
    return accounts(this.#path, request, call);
  }

  /** Lets running calls end; later ones are `NotSentError`. */
  close(): Promise<void> {
    return this.#path.close();
  }
}
