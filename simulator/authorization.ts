/** The authorization page: a user decides whether an application may act for them (spec: user authorization page). */
import type { World } from './world.ts';

export const AUTHORIZATION_PATH = '/entrance/authorization';
export const DEFAULT_USER = 'user-1';

export interface AuthorizationRequest {
  appId: string;
  redirectUri: string;
  state: string | undefined;
}

export interface Decision {
  decision: 'allow' | 'deny';
  /** The user who decides. Default: `user-1`. */
  openId?: string | undefined;
}

/** The request, or why it is refused. A refused request causes no redirect. */
export function readAuthorizationRequest(
  world: World,
  fields: Record<string, string>,
): AuthorizationRequest | string {
  const pick = (snake: string, camel: string) => fields[snake] ?? fields[camel] ?? '';
  const app = world.apps.get(pick('app_id', 'appId'));
  const redirectUri = pick('redirect_uri', 'redirectUri');
  if (!app) return 'app_id is not known';
  if (pick('response_type', 'responseType') !== 'code') return 'response_type must be code';
  if (!isWebAddress(redirectUri)) return 'redirect_uri is not a web address';
  if (app.redirectUri !== undefined && app.redirectUri !== redirectUri)
    return 'redirect_uri is not the registered one';
  return { appId: app.appId, redirectUri, state: fields['state'] };
}

/** Where the decision redirects the user. */
export function redirectTarget(
  world: World,
  asked: AuthorizationRequest,
  { decision, openId }: Decision,
): string {
  const target = new URL(asked.redirectUri);
  if (decision === 'allow') {
    const code = world.codes.issue(asked.appId, openId?.trim() || DEFAULT_USER, world.settings);
    target.searchParams.set('code', code);
  } else target.searchParams.set('error', 'access_denied');
  if (asked.state !== undefined) target.searchParams.set('state', asked.state);
  return target.toString();
}

function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
