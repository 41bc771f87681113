/** Where calls may go (H48): one origin, hosts from a list, and path parts that stay parts. */
import { BlockList, isIP } from 'node:net';
import { PaymentsSettingError } from './errors.ts';

/** A query is kept apart from the path: it may hold the secret, so nothing but the transport sees it. */
export interface Target {
  path: string;
  query?: Record<string, string>;
}

const PRIVATE = new BlockList();
for (const [net, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const)
  PRIVATE.addSubnet(net, bits, 'ipv4');
PRIVATE.addSubnet('fc00::', 7, 'ipv6');
PRIVATE.addSubnet('fe80::', 10, 'ipv6');
PRIVATE.addAddress('::', 'ipv6');

/**
 * An address to talk to: https, or http on loopback; no credentials, query or fragment; its host on the
 * list where there is one. A private or link-local address must be on the list. Throws `PaymentsSettingError`.
 */
export function checkedAddress(setting: string, text: string, allowedHosts?: readonly string[]): URL {
  if (!URL.canParse(text)) throw new PaymentsSettingError(setting, 'is not a URL');
  const url = new URL(text);
  const problem = addressProblem(url, allowedHosts);
  if (problem !== undefined) throw new PaymentsSettingError(setting, problem);
  return url;
}

/** `base` joined with an absolute path and a query. Throws if the result were another place than asked. */
export function urlOf(base: URL, target: Target): URL {
  const path = pathOf(base, target.path);
  const url = new URL(path, base.origin);
  if (url.origin !== base.origin || url.pathname !== path)
    throw new PaymentsSettingError('path', 'leaves the gateway');
  for (const [name, value] of Object.entries(target.query ?? {})) url.searchParams.set(name, value);
  return url;
}

/** The path on the wire: the base's prefix and the operation's path. */
export function pathOf(base: URL, path: string): string {
  return base.pathname.replace(/\/+$/, '') + path;
}

/** Why `text` cannot be one part of a path, or undefined. */
export function pathPartProblem(text: string): string | undefined {
  if (text === '' || text.length > 128) return 'must have 1 to 128 characters';
  if (text === '.' || text === '..') return 'must not be a dot segment';
  if (/[\p{Cc}\p{Cs}/\\]/u.test(text)) return 'must not hold slashes or control characters';
  return undefined;
}

/** One path part, encoded; the caller has checked it with `pathPartProblem`. */
export function pathPart(text: string): string {
  return encodeURIComponent(text);
}

function addressProblem(url: URL, allowedHosts: readonly string[] | undefined): string | undefined {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must be https';
  if (url.protocol === 'http:' && !isLoopback(url)) return 'must be https, unless on loopback';
  if (url.username !== '' || url.password !== '') return 'must not hold credentials';
  if (url.search !== '' || url.hash !== '') return 'must not hold a query or a fragment';
  const listed = allowedHosts?.includes(url.host) || allowedHosts?.includes(url.hostname);
  if (allowedHosts && !listed) return 'its host is not allowed';
  if (!listed && isPrivate(url)) return 'is a private address; allow its host by name if that is meant';
  return undefined;
}

function isLoopback(url: URL): boolean {
  const host = bareHost(url);
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

function isPrivate(url: URL): boolean {
  const host = bareHost(url);
  const family = isIP(host);
  return family !== 0 && PRIVATE.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

function bareHost(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}
