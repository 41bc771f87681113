/** Restricts where calls go (H48): one origin, allowed hosts, and encoded path segments. */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { PaymentsSettingError } from './errors.ts';

/** The query is separate from the path, because it may contain the secret. Only the transport sees it. */
export interface Target {
  path: string;
  query?: Record<string, string>;
}

const PRIVATE: readonly string[] = ['unspecified', 'private', 'carrierGradeNat', 'linkLocal', 'uniqueLocal'];

/**
 * Validates an address: https, or http on loopback; without credentials, query and fragment; with an allowed host if
 * there is a list. A private or link-local address must be on the list. Throws `PaymentsSettingError`.
 */
export function checkedAddress(setting: string, text: string, allowedHosts?: readonly string[]): URL {
  if (!URL.canParse(text)) throw new PaymentsSettingError(setting, 'is not a URL');
  const url = new URL(text);
  const problem = addressProblem(url, allowedHosts);
  if (problem !== undefined) throw new PaymentsSettingError(setting, problem);
  return url;
}

/** Joins `base` with an absolute path and a query. Throws `PaymentsSettingError` if the result leaves the gateway. */
export function urlOf(base: URL, target: Target): URL {
  const path = pathOf(base, target.path);
  const url = new URL(path, base.origin);
  if (url.origin !== base.origin || url.pathname !== path)
    throw new PaymentsSettingError('path', 'leaves the gateway');
  for (const [name, value] of Object.entries(target.query ?? {})) url.searchParams.set(name, value);
  return url;
}

/** The path on the wire: the prefix of the base and the path of the operation. */
export function pathOf(base: URL, path: string): string {
  return base.pathname.replace(/\/+$/, '') + path;
}

function addressProblem(url: URL, allowedHosts: readonly string[] | undefined): string | undefined {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must be https';
  if (url.protocol === 'http:' && !isLoopback(url)) return 'must be https, except on loopback';
  if (url.username !== '' || url.password !== '') return 'must not contain credentials';
  if (url.search !== '' || url.hash !== '') return 'must not contain a query or a fragment';
  const listed = allowedHosts?.includes(url.host) || allowedHosts?.includes(url.hostname);
  if (allowedHosts && !listed) return 'has a host that is not allowed';
  if (!listed && isPrivate(url))
    return 'is a private address; add its host to the allowed hosts if this is intended';
  return undefined;
}

function isLoopback(url: URL): boolean {
  const host = bareHost(url);
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

function isPrivate(url: URL): boolean {
  const host = bareHost(url);
  return isIP(host) !== 0 && PRIVATE.includes(ipaddr.process(host).range());
}

function bareHost(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}
