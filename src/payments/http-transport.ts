/**
 * HTTP on its own connection pools: no retries, no redirects, no pipelining (H11). undici's timers limit connecting and
 * reading. The given clock times everything that decides whether a request is sent.
 */
import { buildConnector, type Dispatcher, Pool } from 'undici';
import { abortable } from '../runtime/runtime.ts';
import { safeErrorCode } from './errors.ts';
import {
  type Attempt,
  BODY_TOO_LARGE,
  type Exchange,
  errorWithCode,
  receivedExchange,
  runAttempt,
  type Transport,
  type TransportOptions,
  type WireRequest,
} from './transport.ts';

export class HttpTransport implements Transport {
  readonly #kept: Pool;
  /** Closes a connection after one exchange. */
  readonly #fresh: Pool;
  readonly #options: TransportOptions;
  #closing: Promise<void> | undefined;

  constructor(options: TransportOptions) {
    const { origin, timeouts, connections } = options;
    this.#options = options;
    const common = {
      connections,
      allowH2: false,
      // Shared, so that a fresh connection resumes a TLS session.
      connect: buildConnector({ timeout: timeouts.connectMs, allowH2: false }),
      headersTimeout: timeouts.headersMs,
      bodyTimeout: timeouts.bodyMs,
    };
    this.#kept = new Pool(origin, { ...common, pipelining: 1 });
    this.#fresh = new Pool(origin, { ...common, pipelining: 0 });
  }

  exchange(request: WireRequest): Promise<Exchange> {
    return runAttempt(request, this.#options, async (attempt) => {
      // undici itself would first wait for the connection.
      const response = await abortable(attempt.signal, this.#dispatch(request, attempt));
      return this.#response(response);
    });
  }

  close(): Promise<void> {
    this.#closing ??= Promise.all([this.#kept.close(), this.#fresh.close()]).then(() => undefined);
    return this.#closing;
  }

  #dispatch(request: WireRequest, attempt: Attempt): Promise<Dispatcher.ResponseData> {
    const pool = request.isFresh ? this.#fresh : this.#kept;
    const dispatcher = pool.compose(
      (dispatch) => (options, handler) => dispatch(options, writeGuard(handler, attempt)),
    );
    return dispatcher.request({
      method: request.method,
      path: request.path,
      headers: request.headers,
      body: request.body ?? null,
      signal: attempt.signal,
    });
  }

  async #response(response: Dispatcher.ResponseData): Promise<Exchange> {
    const { statusCode: status, headers } = response;
    const { maxBodyBytes } = this.#options;
    try {
      const body = await readCapped(response.body, maxBodyBytes);
      return receivedExchange({ status, headers, body }, maxBodyBytes);
    } catch (error) {
      const transportCode = safeErrorCode(error);
      return { kind: 'broken-response', status, transportCode, tooLarge: transportCode === BODY_TOO_LARGE };
    }
  }
}

async function readCapped(body: Dispatcher.ResponseData['body'], maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    const piece = Buffer.from(chunk);
    bytes += piece.length;
    if (bytes > maxBytes) throw errorWithCode(BODY_TOO_LARGE);
    chunks.push(piece);
  }
  return Buffer.concat(chunks);
}

type Handler = Dispatcher.DispatchHandler;

/**
 * undici calls `onRequestStart` immediately before it writes, possibly long after `request()` because it had to connect,
 * and again before a retry. The guard checks both, so that it does not depend on undici's defaults (H11).
 */
export function writeGuard(handler: Handler, { mayWrite }: Attempt): Handler {
  return {
    onRequestStart: (controller, context) => {
      if (mayWrite()) handler.onRequestStart?.(controller, context);
      else controller.abort(new Error('withheld'));
    },
    onResponseStart: (...args) => handler.onResponseStart?.(...args),
    onResponseData: (...args) => handler.onResponseData?.(...args),
    onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
    onResponseError: (...args) => handler.onResponseError?.(...args),
  };
}
