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
  /** The spec's table writes `app_id`, its sample links `appId`. Default: the table's. */
  spelling?: 'snake' | 'camel' | undefined;
}

const TOKEN_PATH = '/v3/b2b/oauth/token';

/** What a link is made of: nothing secret. */
export type AuthorizationPage = Pick<
  PaymentsClientOptions,
  'appId' | 'authUrl' | 'redirectUri' | 'allowedHosts'
>;

/** The link a user follows to grant access. Throws `InvalidRequestError` without a redirect URI. */
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

/** A code works once: a lost answer is `AmbiguousError`, never to be repeated. */
export async function exchangeCode(
  sender: RequestSender,
  code: string,
  options?: CallOptions,
): Promise<UserTokens> {
  const request = checked('exchangeCode', codeRequest, { code });
  const grant = { grant_type: 'authorization_code', code: request.code };
  return grantTokens(sender, 'exchangeCode', grant, options);
}

/** The answer holds a new refresh token; a lost one is `AmbiguousError`. */
export async function refreshUserToken(
  sender: RequestSender,
  refreshToken: string,
  options?: CallOptions,
): Promise<UserTokens> {
  const request = checked('refreshUserToken', refreshRequest, { refreshToken });
  const grant = { grant_type: 'refresh_token', refresh_token: request.refreshToken };
  return grantTokens(sender, 'refreshUserToken', grant, options);
}

/** The secret travels in the query, so neither this URL nor anything quoting it may be logged (H45). */
export async function applicationToken(
  sender: RequestSender,
  options?: CallOptions,
): Promise<ApplicationToken> {
  const query = { app_id: sender.options.appId, app_secret: sender.options.appSecret };
  const target = { path: '/v2/token/get', query };
  return sender.send({ operation: 'applicationToken', target, schema: applicationTokenAnswer }, options);
}

/**
 * Whether the gateway takes the token. The spec shows no answer, and it may echo the headers: dropped. `dated` is told
 * the `Date` header, of a refusal too.
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
