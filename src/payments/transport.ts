/** How one HTTP exchange is made. `http-transport.ts` makes it for real; whoever tests or simulates may answer in-process. */
import type { Clock } from '../surroundings/surroundings.ts';
import { safeErrorCode } from './redact.ts';

export interface WireRequest {
  method: 'GET' | 'POST';
  /** With the query: may hold the secret, so it is never logged. */
  path: string;
  headers: Record<string, string>;
  body?: Buffer;
  signal?: AbortSignal | undefined;
  /** Checked once more when the connection is there, right before the first byte. On the transport's clock. */
  deadline?: number | undefined;
  /** Asked in the same moment: false withholds it. */
  mayWrite?: (() => boolean) | undefined;
}

/** `status` without `body`: the answer broke off. `tooLarge`: it went over the cap. */
export type Exchange =
  | {
      kind: 'answer';
      status: number;
      body: Buffer;
      retryAfter?: string | undefined;
      date?: string | undefined;
    }
  | { kind: 'broken-answer'; status: number; transportCode: string; tooLarge: boolean }
  /** Nothing of the request was written, for want of a connection. */
  | { kind: 'not-received'; transportCode: string }
  /** Nothing was written, because we did not want to any more. */
  | { kind: 'withheld'; reason: 'deadline' | 'aborted' | 'closed' | 'gate' }
  /** Perhaps written, and no answer. */
  | { kind: 'no-answer'; transportCode: string };

/** In milliseconds. */
export interface Timeouts {
  /** To open a connection, TLS included. Default 10 s. */
  connectMs: number;
  /** From the request to the last header. Default 30 s. */
  headersMs: number;
  /** Between two pieces of the body. Default 30 s. */
  bodyMs: number;
  /** The whole exchange, counted from the send. Default 60 s. */
  totalMs: number;
}

/** What a client wants of its transport. */
export interface TransportOptions {
  /** Of the gateway. */
  origin: string;
  timeouts: Timeouts;
  /** The largest answer that is read. */
  maxBodyBytes: number;
  /** How many requests may be under way at once. */
  connections: number;
  clock: Clock;
}

export interface Transport {
  /** Writes the request at most once, and says for certain where it was never written. Never rejects. */
  exchange(request: WireRequest): Promise<Exchange>;
  /** Lets running exchanges end; later ones are withheld as closed. May be called again. */
  close(): Promise<void>;
}

/** One exchange under way, as whoever carries it over sees it. */
export interface Attempt {
  /**
   * Asked right before the first byte, with nothing in between: yes counts as written, and is said only once. After a
   * no, nothing may leave.
   */
  readonly mayWrite: () => boolean;
  /** Aborted when nobody waits for the answer any more: by the caller, or by the total time-out. */
  readonly signal: AbortSignal;
}

/** The codes of a transport that takes no more requests. */
const CLOSED: readonly string[] = ['CLOSED', 'UND_ERR_CLOSED', 'UND_ERR_DESTROYED'];

/**
 * What every transport owes its caller, however it carries the request over: deadline, abort, the total time-out and the
 * gate's last word, and what it all came to. `carry` rejects, with a `code` in its error, where no answer began.
 */
export async function runAttempt(
  request: WireRequest,
  { clock, timeouts }: Pick<TransportOptions, 'clock' | 'timeouts'>,
  carry: (attempt: Attempt) => Promise<Exchange>,
): Promise<Exchange> {
  const giveUp = new AbortController();
  const stopTotal = clock.after(timeouts.totalMs, () => giveUp.abort(errorWithCode('TOTAL_TIMEOUT')));
  const onAbort = () => giveUp.abort(errorWithCode('ABORTED'));
  request.signal?.addEventListener('abort', onAbort, { once: true });
  if (request.signal?.aborted) onAbort();
  const attempt = new GuardedAttempt(request, clock, giveUp.signal);
  try {
    return await carry(attempt);
  } catch (error) {
    return attempt.withoutAnswer(safeErrorCode(error));
  } finally {
    stopTotal();
    request.signal?.removeEventListener('abort', onAbort);
  }
}

class GuardedAttempt implements Attempt {
  readonly signal: AbortSignal;
  readonly #request: WireRequest;
  readonly #clock: Clock;
  /** The request's first byte may have left. */
  #written = false;
  /** It was held back because its deadline had passed. */
  #late = false;
  /** It was held back because the gate had closed. */
  #shut = false;

  constructor(request: WireRequest, clock: Clock, signal: AbortSignal) {
    this.#request = request;
    this.#clock = clock;
    this.signal = signal;
  }

  readonly mayWrite = (): boolean => {
    const { deadline, mayWrite } = this.#request;
    if (this.#written) return false;
    this.#late = deadline !== undefined && this.#clock.nowMs() >= deadline;
    if (this.#late || this.signal.aborted) return false;
    // Last, for a yes counts as a send.
    this.#shut = mayWrite?.() === false;
    this.#written = !this.#shut;
    return this.#written;
  };

  withoutAnswer(transportCode: string): Exchange {
    if (this.#written) return { kind: 'no-answer', transportCode };
    if (this.#late) return { kind: 'withheld', reason: 'deadline' };
    if (this.#shut) return { kind: 'withheld', reason: 'gate' };
    if (this.#request.signal?.aborted) return { kind: 'withheld', reason: 'aborted' };
    if (CLOSED.includes(transportCode)) return { kind: 'withheld', reason: 'closed' };
    return { kind: 'not-received', transportCode };
  }
}

/** An error with a stable code. */
export function errorWithCode(code: string): Error {
  return Object.assign(new Error(code), { code });
}
