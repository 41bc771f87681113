/** The provider's API: one method per operation of the spec. */
import { z } from 'zod';
import type {
  ApplicationToken,
  ClientAccounts,
  CreatePayoutRequest,
  OpaqueRecord,
  PayoutOrder,
  Quote,
  QuoteRequest,
  ReceivingAccountBalance,
  ReceivingAccountBody,
  TradeDetail,
  TradeKey,
  TradeResult,
  UserTokens,
} from '../contract/provider-records.ts';
import { idDiffers } from '../domain/provider-text.ts';
import type { CallOptions, PaymentsClientOptions } from './options.ts';
import { RequestSender } from './request.ts';
import { checkedAddress, urlOf } from './target.ts';
import * as requests from './wire/requests.ts';
import {
  accountsResponse,
  applicationTokenResponse,
  opaqueResponse,
  payoutOrderResponse,
  quoteResponse,
  receivingBalanceResponse,
  tradeDetailResponse,
  tradeResultResponse,
  userTokensResponse,
} from './wire/responses.ts';

const { checked } = requests;

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
   * `INVALID_REQUEST`.
   */
  authorizationUrl(link: AuthorizationLink = {}): URL {
    return authorizationUrl(this.#sender.options, link);
  }

  /**
   * Exchanges an authorization code for tokens (spec: Token exchange and refresh). A code works only once: throws
   * `AMBIGUOUS` if the response is lost.
   */
  async exchangeCode(code: string, call?: CallOptions): Promise<UserTokens> {
    const request = checked('exchangeCode', requests.codeRequest, { code });
    return this.#grant('exchangeCode', { grant_type: 'authorization_code', ...request }, call);
  }

  /**
   * Renews a user's tokens (spec: Token exchange and refresh). The response contains a new refresh token: throws
   * `AMBIGUOUS` if it is lost. With `openId` in `call`, a response for another user is rejected.
   */
  async refreshUserToken(refreshToken: string, call?: CallOptions): Promise<UserTokens> {
    const request = checked('refreshUserToken', requests.refreshRequest, { refreshToken });
    return this.#grant(
      'refreshUserToken',
      { grant_type: 'refresh_token', refresh_token: request.refreshToken },
      call,
    );
  }

  #grant(
    operation: 'exchangeCode' | 'refreshUserToken',
    grant: Record<string, string>,
    call: CallOptions = {},
  ): Promise<UserTokens> {
    const { appId, appSecret } = this.#sender.options;
    const { openId } = call;
    const body = { app_id: appId, app_secret: appSecret, ...grant };
    const mismatch = (tokens: UserTokens) =>
      openId !== undefined && tokens.openId !== openId ? 'open_id' : undefined;
    const path = '/v3/b2b/oauth/token';
    return this.#sender.send({ operation, path, body, schema: userTokensResponse, mismatch }, call);
  }

  /** Gets a new application token (spec: Application token). The query contains the secret (H45). */
  async applicationToken(call?: CallOptions): Promise<ApplicationToken> {
    const { appId, appSecret } = this.#sender.options;
    const target = { path: '/v2/token/get', query: { app_id: appId, app_secret: appSecret } };
    return this.#sender.send(
      { operation: 'applicationToken', ...target, schema: applicationTokenResponse },
      call,
    );
  }

  /**
   * Checks that the gateway accepts the token (spec: Authenticated example call). The response is discarded, because it may
   * echo the headers. `onDate` receives the `Date` header, also of a refusal.
   */
  async ping(call?: CallOptions & { onDate?: (date: string) => void }): Promise<void> {
    const path = '/v2/httpbin/get';
    await this.#sender.send({ operation: 'ping', path, schema: z.unknown(), onDate: call?.onDate }, call);
  }

  /** Opens a receiving account (spec: Apply for a receiving account). Throws `AMBIGUOUS` if the response is lost. */
  async openReceivingAccount(request: ReceivingAccountBody, call?: CallOptions): Promise<OpaqueRecord> {
    const operation = 'openReceivingAccount';
    const body = requests.snakeKeys(checked(operation, requests.receivingAccountRequest, request));
    const path = '/v1/accounts/receiving-account';
    return this.#sender.send({ operation, path, body, schema: opaqueResponse }, call);
  }

  /** Spec: Query receiving accounts. */
  async receivingAccountBalance(
    payerId: string,
    currency: string,
    call?: CallOptions,
  ): Promise<ReceivingAccountBalance> {
    const operation = 'receivingAccountBalance';
    const request = checked(operation, requests.balanceRequest, { payerId, currency });
    const parts = `${encodeURIComponent(request.payerId)}/${encodeURIComponent(request.currency)}`;
    const path = `/v1/accounts/receiving-account/${parts}`;
    return this.#sender.send({ operation, path, schema: receivingBalanceResponse(request.currency) }, call);
  }

  /** Spec: Query receiving account detail. The path contains `receving`, as in the spec. */
  async receivingAccountDetail(accountId: string, call?: CallOptions): Promise<OpaqueRecord> {
    const operation = 'receivingAccountDetail';
    const request = checked(operation, requests.accountDetailRequest, { accountId });
    const path = `/v1/payments/receving-account/${encodeURIComponent(request.accountId)}`;
    return this.#sender.send({ operation, path, schema: opaqueResponse }, call);
  }

  /** Gets a quote and locks its rate (spec: Query payment fee and exchange rate). An unused lock has no effect. */
  async quote(request: QuoteRequest, call?: CallOptions): Promise<Quote> {
    const body = requests.quoteBody(checked('quote', requests.quoteRequest, request));
    return this.#sender.send(
      { operation: 'quote', path: '/v1/payments/fee', body, schema: quoteResponse },
      call,
    );
  }

  /**
   * Creates the order, which moves money (spec: Create a payout (CNY)). Resolves only if the order provably exists.
   * `UNAVAILABLE`, `NOT_SENT` and `INVALID_REQUEST` mean that no order was created. `CREATE_REFUSED` means
   * that the provider says so: confirm it once (H230). `AMBIGUOUS` means that the outcome is unknown: confirm by
   * `partnerOrderId`, and never repeat the create blindly.
   */
  async createPayout(request: CreatePayoutRequest, call?: CallOptions): Promise<PayoutOrder> {
    const operation = 'createPayout';
    const sent = checked(operation, requests.createPayoutRequest, request);
    const { echo } = this.#sender.options;
    const mismatch = ({ partnerOrderId }: PayoutOrder) =>
      partnerOrderId !== undefined && idDiffers(echo, partnerOrderId, sent.partnerOrderId)
        ? 'receiver.outOrderId'
        : undefined;
    const path = '/v2/b2b/currents/createCnyOrder';
    const body = requests.createPayoutBody(sent);
    return this.#sender.send({ operation, path, body, schema: payoutOrderResponse, mismatch }, call);
  }

  /** The order query (spec: Query a payout order). */
  async payoutOrder(orderId: string, call?: CallOptions): Promise<PayoutOrder> {
    const operation = 'payoutOrder';
    const request = checked(operation, requests.payoutOrderRequest, { orderId });
    const path = `/v2/b2b/currents/queryDetail/${encodeURIComponent(request.orderId)}`;
    const mismatch = (order: PayoutOrder) => (order.orderId === request.orderId ? undefined : 'orderId');
    return this.#sender.send({ operation, path, schema: payoutOrderResponse, mismatch }, call);
  }

  /**
   * Spec: Query payout trade result. Throws `ORDER_NOT_EXIST`, which does not prove that there is no order, because
   * the provider's reads may lag (H2).
   */
  async tradeResult(key: TradeKey, call?: CallOptions): Promise<TradeResult> {
    const query = this.#tradeQuery('tradeResult', 'queryResult', key);
    return this.#sender.send({ ...query, schema: tradeResultResponse }, call);
  }

  /** Spec: Query payout trade detail. Throws `ORDER_NOT_EXIST`, as `tradeResult` does. */
  async tradeDetail(key: TradeKey, call?: CallOptions): Promise<TradeDetail> {
    const query = this.#tradeQuery('tradeDetail', 'queryPayDetail', key);
    return this.#sender.send({ ...query, schema: tradeDetailResponse }, call);
  }

  /** Spec: Query account information. Resolves to null if the client has no account. */
  async accounts(request: requests.AccountsRequest, call?: CallOptions): Promise<ClientAccounts | null> {
    const operation = 'accounts';
    const asked = checked(operation, requests.accountsRequest, request);
    const { echo } = this.#sender.options;
    const mismatch = (response: ClientAccounts | null) =>
      response !== null && idDiffers(echo, response.clientId, asked.clientId) ? 'client_id' : undefined;
    const path = '/v1/mid-open-api/account/query';
    const body = requests.snakeKeys(asked);
    return this.#sender.send({ operation, path, body, schema: accountsResponse, mismatch }, call);
  }

  /** A response about another trade or client is not accepted (H15). */
  #tradeQuery(operation: 'tradeResult' | 'tradeDetail', name: string, key: TradeKey) {
    const asked = checked(operation, requests.tradeKey, key);
    const { echo } = this.#sender.options;
    const mismatch = (response: TradeKey) => {
      if (idDiffers(echo, response.clientId, asked.clientId)) return 'client_id';
      return idDiffers(echo, response.partnerOrderId, asked.partnerOrderId) ? 'partner_order_id' : undefined;
    };
    const path = `/v1/mid-open-api/trade/payout/${name}`;
    return { operation, path, body: requests.snakeKeys(asked), mismatch };
  }

  /** Waits for running calls. Later calls reject with `NOT_SENT`. */
  close(): Promise<void> {
    return this.#sender.close();
  }
}

/**
 * `state` is returned unchanged with the redirect. `spelling` is that of the parameters: the spec's table has `app_id`,
 * its sample links `appId`. Default `snake`.
 */
export type AuthorizationLink = Omit<z.input<typeof requests.authorizationRequest>, 'redirectUri'>;

/** The settings that a link contains. None of them is secret. */
type AuthorizationPage = Pick<PaymentsClientOptions, 'appId' | 'authUrl' | 'redirectUri' | 'allowedHosts'>;

/**
 * The link that a user follows to grant access (spec: User authorization page). Throws `INVALID_REQUEST`, for example
 * without a redirect URI.
 */
export function authorizationUrl(page: AuthorizationPage, link: AuthorizationLink): URL {
  const { appId, authUrl, redirectUri, allowedHosts } = page;
  const request = checked('authorizationUrl', requests.authorizationRequest, { ...link, redirectUri });
  const [app, type, redirect] =
    request.spelling === 'camel'
      ? ['appId', 'responseType', 'redirectUri']
      : ['app_id', 'response_type', 'redirect_uri'];
  return urlOf(checkedAddress('authUrl', authUrl, allowedHosts), {
    path: '/entrance/authorization',
    query: {
      [app]: appId,
      [type]: 'code',
      [redirect]: request.redirectUri,
      ...(request.state !== undefined && { state: request.state }),
    },
  });
}
