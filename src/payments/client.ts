/** The provider's API: one method per operation of the spec. */

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
import * as receiving from './receiving-accounts.ts';
import { RequestSender } from './request.ts';
import { checkedAddress } from './target.ts';
import { tradeDetail, tradeResult } from './trades.ts';

/**
 * Each method sends at most one HTTP request and rejects only with a `PaymentsError`, whose `mayHaveTakenEffect` says
 * whether the provider may have executed the request. The client never retries.
 */
export class PaymentsClient {
  readonly #sender: RequestSender;

  /** Throws `PaymentsSettingError` if `baseUrl` or `authUrl` is not allowed. */
  constructor(options: PaymentsClientOptions) {
    checkedAddress('authUrl', options.authUrl, options.allowedHosts);
    this.#sender = new RequestSender(options);
  }

  /**
   * Builds the link to the authorization page, without a call (spec: User authorization page). Throws
   * `InvalidRequestError`.
   */
  authorizationUrl(link: oauth.AuthorizationLink = {}): URL {
    return oauth.authorizationUrl(this.#sender.options, link);
  }

  /**
   * Exchanges an authorization code for tokens (spec: Token exchange and refresh). Throws `AmbiguousError` if the
   * answer is lost.
   */
  exchangeCode(code: string, call?: CallOptions): Promise<UserTokens> {
    return oauth.exchangeCode(this.#sender, code, call);
  }

  /**
   * Renews a user's tokens (spec: Token exchange and refresh). With `openId` in `call`, an answer for another user is
   * rejected. Throws `AmbiguousError` if the answer is lost.
   */
  refreshUserToken(refreshToken: string, call?: CallOptions): Promise<UserTokens> {
    return oauth.refreshUserToken(this.#sender, refreshToken, call);
  }

  /** Gets a new application token (spec: Application token). */
  applicationToken(call?: CallOptions): Promise<ApplicationToken> {
    return oauth.applicationToken(this.#sender, call);
  }

  /**
   * Checks that the gateway accepts the token (spec: Authenticated example call). `onDate` receives the `Date` header.
   */
  ping(call?: CallOptions & { onDate?: (date: string) => void }): Promise<void> {
    return oauth.ping(this.#sender, call);
  }

  /** Opens a receiving account (spec: Apply for a receiving account). Throws `AmbiguousError` if the answer is lost. */
  openReceivingAccount(request: ReceivingAccountRequest, call?: CallOptions): Promise<OpaqueRecord> {
    return receiving.openReceivingAccount(this.#sender, request, call);
  }

  /** Spec: Query receiving accounts. */
  receivingAccountBalance(
    payerId: string,
    currency: string,
    call?: CallOptions,
  ): Promise<ReceivingAccountBalance> {
    return receiving.receivingAccountBalance(this.#sender, payerId, currency, call);
  }

  /** Spec: Query receiving account detail. */
  receivingAccountDetail(accountId: string, call?: CallOptions): Promise<OpaqueRecord> {
    return receiving.receivingAccountDetail(this.#sender, accountId, call);
  }

  /** Gets a quote and locks its rate (spec: Query payment fee and exchange rate). */
  quote(request: QuoteRequest, call?: CallOptions): Promise<Quote> {
    return orders.quote(this.#sender, request, call);
  }

  /**
   * Creates the order, which moves money (spec: Create a payout (CNY)). `CreateRefusedError`, `UnavailableError`,
   * `NotSentError` and `InvalidRequestError` mean that no order was created. `AmbiguousError` means that the outcome is
   * unknown.
   */
  createPayout(request: CreatePayoutRequest, call?: CallOptions): Promise<PayoutOrder> {
    return orders.createPayout(this.#sender, request, call);
  }

  /** The order query (spec: Query a payout order). */
  payoutOrder(orderId: string, call?: CallOptions): Promise<PayoutOrder> {
    return orders.payoutOrder(this.#sender, orderId, call);
  }

  /** Spec: Query payout trade result. Throws `OrderNotExistError`, which does not prove that there is no order. */
  tradeResult(key: TradeKey, call?: CallOptions): Promise<TradeResult> {
    return tradeResult(this.#sender, key, call);
  }

  /** Spec: Query payout trade detail. Throws `OrderNotExistError`, which does not prove that there is no order. */
  tradeDetail(key: TradeKey, call?: CallOptions): Promise<TradeDetail> {
    return tradeDetail(this.#sender, key, call);
  }

  /** Spec: Query account information. Resolves to null if the client has no account. */
  accounts(request: AccountsRequest, call?: CallOptions): Promise<ClientAccounts | null> {
    return accounts(this.#sender, request, call);
  }

  /** Waits for running calls. Later calls reject with `NotSentError`. */
  close(): Promise<void> {
    return this.#sender.close();
  }
}
