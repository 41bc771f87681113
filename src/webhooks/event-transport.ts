/**
 * Sends one event over HTTP to an allowed address: no redirects, no proxy, no retries. The body of the response is not read.
 * The check is made on the address that the connection uses, so that a name that resolves to another address a moment later
 * gains nothing (DNS rebinding).
 */

import { type LookupAddress, lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { Agent } from 'undici';
import { safeErrorCode } from '../payments/errors.ts';

export interface EventRequest {
  url: string;
  headers: Record<string, string>;
  body: string;
  allowPrivateAddress: boolean;
  /** Aborted at the deadline. */
  signal: AbortSignal;
}

/** The HTTP status, or the code of the error that prevented a response. */
export type EventResponse = { status: number } | { code: string };

export interface EventTransport {
  post(request: EventRequest): Promise<EventResponse>;
}

const CONNECT_TIMEOUT_MS = 5_000;
const MAX_HEADER_BYTES = 16_384;
/** Idle connections are closed soon, because an endpoint may move to another address. */
const KEEP_ALIVE_MS = 4_000;

export class HttpEventTransport implements EventTransport {
  readonly #public: Agent;
  readonly #private: Agent;

  /** `resolve`: for tests of DNS responses. */
  constructor(resolve?: Resolve) {
    this.#public = agent(false, resolve);
    this.#private = agent(true, resolve);
  }

  async post({ url, headers, body, allowPrivateAddress, signal }: EventRequest): Promise<EventResponse> {
    const target = new URL(url);
    if (isRefusedHost(target, allowPrivateAddress)) return { code: ADDRESS_REFUSED };
    try {
      const { statusCode, body: response } = await (allowPrivateAddress
        ? this.#private
        : this.#public
      ).request({
        origin: target.origin,
        path: `${target.pathname}${target.search}`,
        method: 'POST',
        headers,
        body,
        signal,
      });
      // Closes the connection unless the body is short.
      await response.dump({ limit: 1_024, signal }).catch(() => undefined);
      return { status: statusCode };
    } catch (error) {
      return { code: signal.aborted ? 'TIMEOUT' : codeOf(error) };
    }
  }
}

function agent(allowPrivate: boolean, resolve: Resolve | undefined): Agent {
  return new Agent({
    connect: { timeout: CONNECT_TIMEOUT_MS, lookup: guardedLookup(allowPrivate, resolve) },
    pipelining: 1,
    allowH2: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    // The caller's signal is the deadline.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

/** A failed connection to several addresses has the code of each in its errors. */
function codeOf(error: unknown): string {
  const code = safeErrorCode(error);
  if (code !== 'UNKNOWN' || !(error instanceof Error)) return code;
  return safeErrorCode(error.cause);
}

/** The code of the error for a refused address. */
export const ADDRESS_REFUSED = 'ADDRESS_REFUSED';

/** With `allowPrivateAddress`. Link-local addresses, where most clouds serve credentials, are never allowed. */
const PRIVATE_RANGES: readonly string[] = ['private', 'loopback', 'uniqueLocal', 'carrierGradeNat'];

/** Addresses outside the link-local range where clouds serve credentials: Alibaba, Azure, AWS, Google, Oracle and Scaleway. */
const CREDENTIAL_SERVICES: readonly string[] = [
  '100.100.100.200',
  '168.63.129.16',
  'fd00:ec2::23',
  'fd00:ec2::254',
  'fd00:c1::a9fe:a9fe',
  'fd00:42::42',
  'fd20:ce::254',
];
/** All public IPv6 addresses. The library counts every address without a special purpose as unicast. */
const PUBLIC_IPV6 = ipaddr.parseCIDR('2000::/3');

/** Whether the address is public or, with `allowPrivate`, also private. */
export function isAllowedAddress(address: string, allowPrivate: boolean): boolean {
  if (!ipaddr.isValid(address)) return false;
  // An IPv4 address in IPv6 form counts as the IPv4 address.
  const parsed = ipaddr.process(address);
  if (CREDENTIAL_SERVICES.includes(parsed.toString())) return false;
  const range = parsed.range();
  if (range === 'unicast') return parsed.kind() === 'ipv4' || parsed.match(PUBLIC_IPV6);
  return allowPrivate && PRIVATE_RANGES.includes(range);
}

/** Whether the host of a URL is an address that is refused. A name is checked when it is resolved. */
export function isRefusedHost({ hostname }: URL, allowPrivate: boolean): boolean {
  const address = hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(address) !== 0 && !isAllowedAddress(address, allowPrivate);
}

type Resolve = (
  hostname: string,
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

const resolveAll: Resolve = (hostname, done) => lookup(hostname, { all: true }, done);

/** For `net.connect`: resolves a name to its allowed addresses, and fails if one of them is refused. */
export function guardedLookup(allowPrivate: boolean, resolve: Resolve = resolveAll): LookupFunction {
  return (hostname, options, callback) =>
    resolve(hostname, (error, addresses) => {
      const [first] = addresses ?? [];
      const isRefused = first && addresses.some(({ address }) => !isAllowedAddress(address, allowPrivate));
      if (error || !first || isRefused) callback(error ?? refusal(), '', 0);
      else if (options.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
}

function refusal(): NodeJS.ErrnoException {
  return Object.assign(new Error('the address is not allowed'), { code: ADDRESS_REFUSED });
}
