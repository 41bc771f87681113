/** One HTTP exchange. `http-transport.ts` implements it over HTTP; tests and simulations respond in-process. */

import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync } from 'node:zlib';
import type { Clock } from '../runtime/runtime.ts';
import { safeErrorCode } from './errors.ts';

export interface WireRequest {
  method: 'GET' | 'POST';
  /** With the query, which may contain the secret, so the path is never logged. */
  path: string;
  headers: Record<string, string>;
  body?: Buffer;
  /** Needs a connection of its own: the provider, or a proxy before it, may reset an idle one as the request arrives. */
  isFresh?: boolean;
  /** Checked again immediately before the first byte is written. On the transport's clock. */
  deadline?: number | undefined;
  /** Called at the same moment. If false, the request is withheld. */
  mayWrite?: (() => boolean) | undefined;
}

/** How an exchange ended. `broken-response`: the response broke off or, with `tooLarge`, exceeded the maximum size. */
export type Exchange =
  | {
      kind: 'response';
      status: number;
      body: Buffer;
      retryAfter?: string | undefined;
      date?: string | undefined;
    }
  | { kind: 'broken-response'; status: number; transportCode: string; tooLarge: boolean }
  /** There was no connection. Nothing of the request was written. */
  | { kind: 'not-received'; transportCode: string }
  /** The client or its gate decided not to write the request. Nothing of it was written. */
  | { kind: 'withheld'; reason: 'deadline' | 'closed' | 'gate' }
  /** The request may have been written, and no response came. */
  | { kind: 'no-response'; transportCode: string };

/** In milliseconds. */
export interface Timeouts {
  /** For opening a connection, including TLS. Default 10 s. */
  connectMs: number;
  /** From the request to the last header. Default 30 s. */
  headersMs: number;
  /** Between two chunks of the body. Default 30 s. */
  bodyMs: number;
  /** For the whole exchange, counted from the call of `exchange`. Default 60 s. */
  totalMs: number;
}

/** The client's options for its transport. */
export interface TransportOptions {
  /** The origin of the gateway. */
  origin: string;
  timeouts: Timeouts;
  /** The maximum size of a response. */
  maxBodyBytes: number;
  /** The maximum number of concurrent requests. */
  connections: number;
  clock: Clock;
}

export interface Transport {
  /** Writes the request at most once, and reports reliably if it was never written. Never rejects. */
  exchange(request: WireRequest): Promise<Exchange>;
  /** Waits for running exchanges; later ones are withheld as `closed`. May be called repeatedly. */
  close(): Promise<void>;
}

/** A running exchange, as the implementation of a transport sees it. */
export interface Attempt {
  /**
   * Call it immediately before writing the first byte. `true` counts as written and is returned only once. After `false`,
   * nothing may be written.
   */
  readonly mayWrite: () => boolean;
  /** Aborted by the total timeout. After that, the response is no longer needed. */
  readonly signal: AbortSignal;
}

/** The error codes of a closed transport. */
const CLOSED: readonly string[] = ['CLOSED', 'UND_ERR_CLOSED', 'UND_ERR_DESTROYED'];

/**
 * The part that all transports share: deadline, total timeout, the gate's last check, and the kind of the result.
 * `carry` rejects with an error that has a `code` if no response began.
 */
export async function runAttempt(
  request: WireRequest,
  { clock, timeouts }: Pick<TransportOptions, 'clock' | 'timeouts'>,
  carry: (attempt: Attempt) => Promise<Exchange>,
): Promise<Exchange> {
  const giveUp = new AbortController();
  const stopTotal = clock.after(timeouts.totalMs, () => giveUp.abort(errorWithCode('TOTAL_TIMEOUT')));
  /** The first byte of the request may have been written. */
  let written = false;
  let late = false;
  let gateClosed = false;
  const mayWrite = (): boolean => {
    if (written) return false;
    late = request.deadline !== undefined && clock.nowMs() >= request.deadline;
    if (late || giveUp.signal.aborted) return false;
    // Must come last: `true` counts as a send.
    gateClosed = request.mayWrite?.() === false;
    written = !gateClosed;
    return written;
  };
  try {
    return await carry({ mayWrite, signal: giveUp.signal });
  } catch (error) {
    const transportCode = safeErrorCode(error);
    if (written) return { kind: 'no-response', transportCode };
    if (late) return { kind: 'withheld', reason: 'deadline' };
    if (gateClosed) return { kind: 'withheld', reason: 'gate' };
    if (CLOSED.includes(transportCode)) return { kind: 'withheld', reason: 'closed' };
    return { kind: 'not-received', transportCode };
  } finally {
    stopTotal();
  }
}

/** An error with a stable code. */
export function errorWithCode(code: string): Error {
  return Object.assign(new Error(code), { code });
}

interface Received {
  status: number;
  /** By lower-case name. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: Buffer;
}

export const BODY_TOO_LARGE = 'BODY_TOO_LARGE';
const MAX_CODINGS = 3;

export function receivedExchange({ status, headers, body }: Received, maxBodyBytes: number): Exchange {
  const valuesOf = (name: string) => [headers[name] ?? []].flat();
  const [[retryAfter], [date]] = [valuesOf('retry-after'), valuesOf('date')];
  try {
    const codings = valuesOf('content-encoding').join(',');
    return { kind: 'response', status, body: decodedBody(body, codings, maxBodyBytes), retryAfter, date };
  } catch (error) {
    const code = safeErrorCode(error);
    const tooLarge = code === BODY_TOO_LARGE || code === 'ERR_BUFFER_TOO_LARGE';
    const transportCode = tooLarge ? BODY_TOO_LARGE : 'UNDECODABLE_BODY';
    return { kind: 'broken-response', status, transportCode, tooLarge };
  }
}

type Decode = (body: Buffer, options: { maxOutputLength: number }) => Buffer;

/** `deflate` means zlib, but some servers send it without zlib's header, whose first byte ends in 8. */
const inflate: Decode = (body, options) =>
  ((body[0] ?? 0) & 0x0f) === 8 ? inflateSync(body, options) : inflateRawSync(body, options);

const DECODERS = new Map<string, Decode>([
  ['gzip', gunzipSync],
  ['x-gzip', gunzipSync],
  ['deflate', inflate],
  ['br', brotliDecompressSync],
]);

function decodedBody(body: Buffer, contentEncoding: string, maxOutputLength: number): Buffer {
  if (body.length > maxOutputLength) throw errorWithCode(BODY_TOO_LARGE);
  const codings = contentEncoding.split(',').map((coding) => coding.trim().toLowerCase());
  if (codings.length > MAX_CODINGS) throw errorWithCode('TOO_MANY_CODINGS');
  // The last coding was applied last.
  return codings.reduceRight((encoded, coding) => decodedOnce(encoded, coding, maxOutputLength), body);
}

/** A coding that nobody knows says nothing: JSON is JSON. A gateway may also decode a body and leave the header. */
function decodedOnce(body: Buffer, coding: string, maxOutputLength: number): Buffer {
  const decode = DECODERS.get(coding);
  // No encoded body begins with `{`.
  const isPlain = body.length === 0 || body[0] === 0x7b;
  return decode && !isPlain ? decode(body, { maxOutputLength }) : body;
}
