/** Spec: User authorization page, Token exchange and refresh, Application token, Authenticated example call. */
import { z } from 'zod';
import type { ApplicationToken, UserTokens } from '../domain/provider-records.ts';
import { checked } from './checked.ts';
import type { CallOptions, PaymentsClientOptions } from './options.ts';
import type { RequestSender } from './request.ts';
import { checkedAddress, urlOf } from './target.ts';
import { authorizationRequest, codeRequest, refreshRequest } from './wire/requests.ts';
import { applicationTokenAnswer, userTokensAnswer } from './wire/tokens.ts';

export interface AuthorizationLink {
  /** Returned unchanged with the redirect. */
  state?: string | undefined;
  /** The spelling of the parameters: the spec's table has `app_id`, its sample links `appId`. Default `snake`. */
  spelling?: 'snake' | 'camel' | undefined;
}

const TOKEN_PATH = '/v3/b2b/oauth/token';

/** The settings that a link contains. None of them is secret. */
export type AuthorizationPage = Pick<
  PaymentsClientOptions,
  'appId' | 'authUrl' | 'redirectUri' | 'allowedHosts'
>;

/**
 * The link that a user follows to grant access (spec: User authorization page). Throws `InvalidRequestError`, for example
 * without a redirect URI.
 */
export function authorizationUrl(page: AuthorizationPage, link: AuthorizationLink): URL {
  const { appId, authUrl, redirectUri, allowedHosts } = page;
  const request = checked('authorizationUrl', authorizationRequest, { ...link, redirectUri });
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

/** A code works only once, so a lost answer is an `AmbiguousError`, and the call must not be repeated. */
export async function exchangeCode(
  sender: RequestSender,
  code: string,
  options?: CallOptions,
): Promise<UserTokens> {
  const request = checked('exchangeCode', codeRequest, { code });
  const grant = { grant_type: 'authorization_code', code: request.code };
  return grantTokens(sender, 'exchangeCode', grant, options);
}

/** The answer contains a new refresh token. A lost answer is an `AmbiguousError`. */
export async function refreshUserToken(
  sender: RequestSender,
  refreshToken: string,
  options?: CallOptions,
): Promise<UserTokens> {
  const request = checked('refreshUserToken', refreshRequest, { refreshToken });
  const grant = { grant_type: 'refresh_token', refresh_token: request.refreshToken };
  return grantTokens(sender, 'refreshUserToken', grant, options);
}

/** The query contains the secret, so this URL must never be logged (H45). */
export async function applicationToken(
  sender: RequestSender,
  options?: CallOptions,
): Promise<ApplicationToken> {
  const query = { app_id: sender.options.appId, app_secret: sender.options.appSecret };
  const target = { path: '/v2/token/get', query };
  return sender.send({ operation: 'applicationToken', target, schema: applicationTokenAnswer }, options);
}

/**
 * Checks that the gateway accepts the token. The answer is discarded: the spec does not show it, and it may echo the
 * headers. `onDate` receives the `Date` header, also of a refusal.
 */
export async function ping(
  sender: RequestSender,
  options?: CallOptions & { onDate?: (date: string) => void },
): Promise<void> {
  const target = { path: '/v2/httpbin/get' };
  await sender.send({ operation: 'ping', target, schema: z.unknown(), onDate: options?.onDate }, options);
}

function grantTokens(
  sender: RequestSender,
  operation: 'exchangeCode' | 'refreshUserToken',
  grant: Record<string, string>,
  options: CallOptions | undefined,
): Promise<UserTokens> {
  const { appId, appSecret } = sender.options;
  const body = { app_id: appId, app_secret: appSecret, ...grant };
  const openId = options?.openId;
  const mismatch = (tokens: UserTokens) =>
    openId !== undefined && tokens.openId !== openId ? 'open_id' : undefined;
  return sender.send(
    { operation, target: { path: TOKEN_PATH }, body, schema: userTokensAnswer, mismatch },
    options,
  );
}
