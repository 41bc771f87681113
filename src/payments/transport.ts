/**
 * One HTTP exchange on a pool of its own: no retry, no redirect, one request at a time on a connection
 * (H11). It says for certain whether a request was never written.
 */
import { type Dispatcher, Pool } from 'undici';
import type { Timeouts } from './options.ts';
import { safeErrorCode } from './redact.ts';
import { type Attempt, WriteGuard } from './write-guard.ts';

export interface WireRequest {
  method: 'GET' | 'POST';
  /** With the query: may hold the secret, so it is never logged. */
  path: string;
  headers: Record<string, string>;
  body?: Buffer;
  signal?: AbortSignal | undefined;
  /** Checked once more when the connection is there, right before the first byte. */
  deadline?: number | undefined;
  /** Asked in the same moment: false withholds it. */
  mayWrite?: (() => boolean) | undefined;
}

/** `status` without `body`: the answer broke off. `tooLarge`: it went over the cap. */
export type Exchange =
  | { is: 'answer'; status: number; body: Buffer; retryAfter?: string | undefined; date?: string | undefined }
  | { is: 'broken-answer'; status: number; transportCode: string; tooLarge: boolean }
  /** Nothing of the request was written, for want of a connection. */
  | { is: 'not-received'; transportCode: string }
  /** Nothing was written, because we did not want to any more. */
  | { is: 'withheld'; reason: 'deadline' | 'aborted' | 'closed' | 'gate' }
  /** Perhaps written, and no answer. */
  | { is: 'no-answer'; transportCode: string };

export const DEFAULT_TIMEOUTS: Timeouts = {
  connectMs: 10_000,
  headersMs: 30_000,
  bodyMs: 30_000,
  totalMs: 60_000,
};

export class Transport {
  readonly #pool: Pool;
  readonly #timeouts: Timeouts;
  readonly #maxBodyBytes: number;
  #closing: Promise<void> | undefined;

  constructor(origin: string, timeouts: Timeouts, maxBodyBytes: number, connections: number) {
    this.#timeouts = timeouts;
    this.#maxBodyBytes = maxBodyBytes;
    this.#pool = new Pool(origin, {
      connections,
      pipelining: 1,
      allowH2: false,
      connect: { timeout: timeouts.connectMs },
      headersTimeout: timeouts.headersMs,
      bodyTimeout: timeouts.bodyMs,
    });
  }

  /** Never rejects. */
  async exchange(request: WireRequest): Promise<Exchange> {
    const giveUp = new AbortController();
    const total = setTimeout(() => giveUp.abort(coded('TOTAL_TIMEOUT')), this.#timeouts.totalMs);
    const onAbort = () => giveUp.abort(coded('ABORTED'));
    request.signal?.addEventListener('abort', onAbort, { once: true });
    if (request.signal?.aborted) onAbort();
    try {
      const { signal: caller, deadline, mayWrite = () => true } = request;
      return await this.#attempt(request, {
        written: false,
        late: false,
        shut: false,
        mayWrite,
        caller,
        deadline,
        givenUp: giveUp.signal,
      });
    } finally {
      clearTimeout(total);
      request.signal?.removeEventListener('abort', onAbort);
    }
  }

  /** Lets running exchanges end. May be called again. */
  close(): Promise<void> {
    this.#closing ??= this.#pool.close();
    return this.#closing;
  }

  async #attempt(request: WireRequest, attempt: Attempt): Promise<Exchange> {
    try {
      const response = await unless(attempt.givenUp, this.#dispatch(request, attempt));
      return await this.#answer(response);
    } catch (error) {
      return withoutAnswer(attempt, safeErrorCode(error));
    }
  }

  #dispatch(request: WireRequest, attempt: Attempt): Promise<Dispatcher.ResponseData> {
    const dispatcher = this.#pool.compose(
      (dispatch) => (options, handler) => dispatch(options, new WriteGuard(handler, attempt)),
    );
    return dispatcher.request({
      method: request.method,
      path: request.path,
      headers: request.headers,
      body: request.body ?? null,
      signal: attempt.givenUp,
    });
  }

  async #answer(response: Dispatcher.ResponseData): Promise<Exchange> {
    const status = response.statusCode;
    const retryAfter = first(response.headers['retry-after']);
    const date = first(response.headers['date']);
    try {
      const body = await readCapped(response.body, this.#maxBodyBytes);
      return { is: 'answer', status, body, retryAfter, date };
    } catch (error) {
      const transportCode = safeErrorCode(error);
      return { is: 'broken-answer', status, transportCode, tooLarge: transportCode === 'BODY_TOO_LARGE' };
    }
  }
}

function withoutAnswer(attempt: Attempt, transportCode: string): Exchange {
  if (attempt.written) return { is: 'no-answer', transportCode };
  if (attempt.late) return { is: 'withheld', reason: 'deadline' };
  if (attempt.shut) return { is: 'withheld', reason: 'gate' };
  if (attempt.caller?.aborted) return { is: 'withheld', reason: 'aborted' };
  if (transportCode === 'UND_ERR_CLOSED' || transportCode === 'UND_ERR_DESTROYED')
    return { is: 'withheld', reason: 'closed' };
  return { is: 'not-received', transportCode };
}

function first(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

async function readCapped(body: Dispatcher.ResponseData['body'], maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    const piece = Buffer.from(chunk);
    bytes += piece.length;
    if (bytes > maxBytes) throw coded('BODY_TOO_LARGE');
    chunks.push(piece);
  }
  return Buffer.concat(chunks);
}

/** Rejects as soon as `signal` says so: undici itself would first wait for its connection. */
function unless<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

function coded(code: string): Error {
  return Object.assign(new Error(code), { code });
}
