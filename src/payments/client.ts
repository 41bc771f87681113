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
import { RequestSender } from './request.ts';
import { checkedAddress } from './target.ts';
import { tradeDetail, tradeResult } from './trades.ts';

/**
 * Each method sends at most one HTTP request and rejects only with a `PaymentsError`, whose
 * `mayHaveTakenEffect` says whether the service may have done what was asked. Nothing is retried here.
 */
export class PaymentsClient {
  readonly #sender: RequestSender;

  /** Throws `PaymentsSettingError` when an address may not be talked to. */
  constructor(options: PaymentsClientOptions) {
    checkedAddress('authUrl', options.authUrl, options.allowedHosts);
    this.#sender = new RequestSender(options);
  }

  /** Builds a link, calls nobody. Throws `InvalidRequestError`. */
  authorizationUrl(link: oauth.AuthorizationLink = {}): URL {
    return oauth.authorizationUrl(this.#sender.options, link);
  }

  exchangeCode(code: string, call?: CallOptions): Promise<UserTokens> {
    return oauth.exchangeCode(this.#sender, code, call);
  }

  /** With `openId` in `call`, an answer for another user is rejected. */
  refreshUserToken(refreshToken: string, call?: CallOptions): Promise<UserTokens> {
    return oauth.refreshUserToken(this.#sender, refreshToken, call);
  }

  applicationToken(call?: CallOptions): Promise<ApplicationToken> {
    return oauth.applicationToken(this.#sender, call);
  }

  ping(call?: CallOptions & { onDate?: (date: string) => void }): Promise<void> {
    return oauth.ping(this.#sender, call);
  }

  openReceivingAccount(request: ReceivingAccountRequest, call?: CallOptions): Promise<OpaqueRecord> {
    return receiving.openReceivingAccount(this.#sender, request, call);
  }

  receivingAccountBalance(
    payerId: string,
    currency: string,
    call?: CallOptions,
  ): Promise<ReceivingAccountBalance> {
    return receiving.receivingAccountBalance(this.#sender, payerId, currency, call);
  }

  receivingAccountDetail(accountId: string, call?: CallOptions): Promise<OpaqueRecord> {
    return receiving.receivingAccountDetail(this.#sender, accountId, call);
  }

  quote(request: QuoteRequest, call?: CallOptions): Promise<Quote> {
    return quote(this.#sender, request, call);
  }

  createPayout(request: CreatePayoutRequest, call?: CallOptions): Promise<PayoutOrder> {
    return orders.createPayout(this.#sender, request, call);
  }

  payoutOrder(orderId: string, call?: CallOptions): Promise<PayoutOrder> {
    return orders.payoutOrder(this.#sender, orderId, call);
  }

  tradeResult(key: TradeKey, call?: CallOptions): Promise<TradeResult> {
    return tradeResult(this.#sender, key, call);
  }

  tradeDetail(key: TradeKey, call?: CallOptions): Promise<TradeDetail> {
    return tradeDetail(this.#sender, key, call);
  }

  accounts(request: AccountsRequest, call?: CallOptions): Promise<ClientAccounts | null> {
    return accounts(this.#sender, request, call);
  }

  /** Lets running calls end; later ones are `NotSentError`. */
  close(): Promise<void> {
    return this.#sender.close();
  }
}
