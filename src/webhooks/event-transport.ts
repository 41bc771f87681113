/** Sends one event over HTTP: no redirects, no proxy, no retries. The body of the answer is not read. */
import { Agent } from 'undici';
import { safeErrorCode } from '../payments/redact.ts';
import { ADDRESS_REFUSED, guardedLookup, isRefusedHost } from './addresses.ts';

export interface EventRequest {
  url: string;
  headers: Record<string, string>;
  body: string;
  allowPrivateAddress: boolean;
  /** Aborted at the deadline. */
  signal: AbortSignal;
}

/** The HTTP status, or the code of the error that prevented an answer. */
export type EventAnswer = { status: number } | { code: string };

export interface EventTransport {
  post(request: EventRequest): Promise<EventAnswer>;
}

type Resolve = Parameters<typeof guardedLookup>[1];

const CONNECT_TIMEOUT_MS = 5_000;
const MAX_HEADER_BYTES = 16_384;
/** Idle connections are closed soon, because an endpoint may move to another address. */
const KEEP_ALIVE_MS = 4_000;

export class HttpEventTransport implements EventTransport {
  readonly #public: Agent;
  readonly #private: Agent;

  /** `resolve`: for tests of DNS answers. */
  constructor(resolve?: Resolve) {
    this.#public = agent(false, resolve);
    this.#private = agent(true, resolve);
  }

  async post({ url, headers, body, allowPrivateAddress, signal }: EventRequest): Promise<EventAnswer> {
    const target = new URL(url);
    if (isRefusedHost(target, allowPrivateAddress)) return { code: ADDRESS_REFUSED };
    try {
      const { statusCode, body: answer } = await (allowPrivateAddress ? this.#private : this.#public).request(
        {
          ...{ origin: target.origin, path: `${target.pathname}${target.search}`, method: 'POST' },
          ...{ headers, body, signal },
        },
      );
      // Closes the connection unless the body is short.
      await answer.dump({ limit: 1_024, signal }).catch(() => undefined);
      return { status: statusCode };
    } catch (error) {
      return { code: signal.aborted ? 'TIMEOUT' : codeOf(error) };
    }
  }
}

function agent(allowPrivate: boolean, resolve: Resolve): Agent {
  return new Agent({
    connect: { timeout: CONNECT_TIMEOUT_MS, lookup: guardedLookup(allowPrivate, resolve) },
    ...{ pipelining: 1, allowH2: false, maxHeaderSize: MAX_HEADER_BYTES },
    ...{ keepAliveTimeout: KEEP_ALIVE_MS, keepAliveMaxTimeout: KEEP_ALIVE_MS },
    // The caller's signal is the deadline.
    ...{ headersTimeout: 0, bodyTimeout: 0 },
  });
}

/** A failed connection to several addresses has the code of each in its errors. */
function codeOf(error: unknown): string {
  const code = safeErrorCode(error);
  if (code !== 'UNKNOWN' || !(error instanceof Error)) return code;
  return safeErrorCode(error.cause);
}
