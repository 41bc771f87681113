import type { z } from 'zod';
import type { PaymentsClientOptions } from './options.ts';
import { checkedAddress, urlOf } from './target.ts';
import { authorizationRequest, checked } from './wire/requests.ts';

/**
 * `state` is returned unchanged with the redirect. `spelling` is that of the parameters: the spec's table has `app_id`,
 * its sample links `appId`. Default `snake`.
 */
export type AuthorizationLink = Omit<z.input<typeof authorizationRequest>, 'redirectUri'>;

/** The settings that a link contains. None of them is secret. */
type AuthorizationPage = Pick<PaymentsClientOptions, 'appId' | 'authUrl' | 'redirectUri' | 'allowedHosts'>;

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
