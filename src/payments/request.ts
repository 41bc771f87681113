/** Sends every call: token, signature, rate limit, last checks, exchange, classification, report. */

import { compact } from '../contract/compact.ts';
import { abortable } from '../runtime/runtime.ts';
import {
  type ErrorContext,
  GatePausedError,
  GateTooLateError,
  invalidRequest,
  isTokenRejected,
  notSent,
  PaymentsError,
  safeErrorName,
} from './errors.ts';
import { writeExactJson } from './exact-json.ts';
import { HttpTransport } from './http-transport.ts';
import { type ApiOperation, creates, rulesOf } from './operations.ts';
import type {
  CallEnd,
  CallOptions,
  GatedCall,
  PaymentsClientOptions,
  TokenKind,
  TokenRequest,
} from './options.ts';
import { type Outcome, outcomeOf, type ResponseRules } from './outcome.ts';
import { checkedAddress, pathOf, type Target, urlOf } from './target.ts';
import type { Exchange, Timeouts, Transport, TransportOptions, WireRequest } from './transport.ts';

export interface Call<T> extends ResponseRules<T>, Target {
  /** Serialized with `writeExactJson`. */
  body?: unknown;
  /** Receives the `Date` header of any response. */
  onDate?: ((date: string) => void) | undefined;
}

/** The deadline has come. */
class ExpiredError extends Error {}

const MAX_BODY_BYTES = 1024 * 1024;
const CONNECTIONS = 32;
const TIMEOUTS: Timeouts = {
  connectMs: 10_000,
  headersMs: 30_000,
  bodyMs: 30_000,
  totalMs: 60_000,
};

export class RequestSender {
  readonly options: PaymentsClientOptions;
  readonly #base: URL;
  readonly #transport: Transport;

  /** Throws `PaymentsSettingError` if `baseUrl` is not allowed. */
  constructor(options: PaymentsClientOptions) {
    this.options = options;
    this.#base = checkedAddress('baseUrl', options.baseUrl, options.allowedHosts);
    const transport = options.transport ?? ((wanted: TransportOptions) => new HttpTransport(wanted));
    this.#transport = transport({
      origin: this.#base.origin,
      timeouts: { ...TIMEOUTS, ...options.timeouts },
      maxBodyBytes: options.maxBodyBytes ?? MAX_BODY_BYTES,
      connections: options.connections ?? CONNECTIONS,
      clock: options.runtime.clock,
    });
  }

  /** Sends at most once. Rejects only with a `PaymentsError`. */
  async send<T>(call: Call<T>, options: CallOptions = {}): Promise<T> {
    const { clock, random } = this.options.runtime;
    const started = clock.nowMs();
    const context: ErrorContext = { operation: call.operation, requestId: random.uuid() };
    const outcome = await this.#try(call, context, options);
    this.#report(call, outcome, clock.nowMs() - started);
    if ('error' in outcome.result) throw outcome.result.error;
    return outcome.result.value;
  }

  async close(): Promise<void> {
    await this.#transport.close();
  }

  async #try<T>(call: Call<T>, context: ErrorContext, options: CallOptions): Promise<Outcome<T>> {
    const { deadline, background } = options;
    const gated: GatedCall = compact({ operation: call.operation, background, deadline });
    let end: CallEnd = 'not-sent';
    try {
      const prepared = await this.#prepare(call, context, options);
      await this.#passGate(gated, context, options);
      const { headers, token } = await this.#authorize(call, context, options);
      await this.#runBeforeSend(context, options);
      const mayWrite = () => this.options.gate?.mayWrite?.(gated) ?? true;
      const request = { ...prepared, headers: { ...prepared.headers, ...headers }, mayWrite };
      const exchange = await this.#transport.exchange(request);
      end = CALL_END[exchange.kind];
      if (exchange.kind === 'response' && exchange.date !== undefined) call.onDate?.(exchange.date);
      const outcome = outcomeOf(call, context, exchange, this.options.createCodes);
      if (token && isTokenRejected(outcome.context)) reportRejectedToken(this.options, token);
      if (wasRateLimited(outcome)) this.options.gate?.limited?.(retryAfterMs(exchange));
      return outcome;
    } catch (error) {
      if (!(error instanceof PaymentsError)) throw error;
      return { context, result: { error } };
    } finally {
      this.options.gate?.finished?.(gated, end);
    }
  }

  /** Does all slow work before the call's turn, so that the send follows the turn immediately. */
  async #prepare<T>(call: Call<T>, context: ErrorContext, options: CallOptions): Promise<WireRequest> {
    const { method, token: place, effect } = rulesOf(call.operation);
    const body = call.body === undefined ? undefined : writeExactJson(call.body);
    // Only so that there is a token when the turn comes.
    await authorizationHeaders(this.options, call.operation, context, options.openId);
    const url = urlOf(this.#base, call);
    const headers: Record<string, string> = {
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'durable-payouts',
      'x-request-id': context.requestId,
      ...(body && { 'content-type': 'application/json' }),
      ...(place === 'trade' && (await this.#signature(call, method, body, context))),
    };
    const { deadline, fresh = false } = options;
    const isFresh = fresh || effect !== 'read';
    const request = { method, path: url.pathname + url.search, headers, isFresh, deadline };
    return body ? { ...request, body } : request;
  }

  /** The token of this moment: the one from before the wait may have been renewed, and revoked by that. */
  async #authorize<T>(call: Call<T>, context: ErrorContext, options: CallOptions): Promise<Authorization> {
    const read = authorizationHeaders(this.options, call.operation, context, options.openId);
    try {
      return await this.#withinDeadline(read, options);
    } catch (error) {
      this.#throwIfExpired(context, options);
      throw error instanceof ExpiredError ? notSent(context, 'deadline') : error;
    }
  }

  async #signature<T>(
    call: Call<T>,
    method: string,
    body: Buffer | undefined,
    context: ErrorContext,
  ): Promise<Record<string, string>> {
    const path = pathOf(this.#base, call.path);
    const { signer, runtime } = this.options;
    try {
      const input = { method, path, body: body ?? Buffer.alloc(0), timestamp: runtime.clock.wallMs() };
      return await signer.sign(input);
    } catch (error) {
      throw notSent(context, 'signer', safeErrorName(error));
    }
  }

  async #passGate(gated: GatedCall, context: ErrorContext, options: CallOptions): Promise<void> {
    this.#throwIfExpired(context, options);
    try {
      await this.options.gate?.pass(gated);
    } catch (error) {
      throw notSent(context, gateReason(error), safeErrorName(error));
    }
  }

  /** Runs `beforeSend`, at most until the call's deadline. */
  async #runBeforeSend(context: ErrorContext, options: CallOptions): Promise<void> {
    try {
      const pending = options.beforeSend?.();
      if (pending) await this.#withinDeadline(pending, options);
    } catch (error) {
      this.#throwIfExpired(context, options);
      // A timer may fire a fraction of a millisecond before the clock reaches the deadline.
      const reason = error instanceof ExpiredError ? 'deadline' : 'before-send';
      throw notSent(context, reason, safeErrorName(error));
    }
    this.#throwIfExpired(context, options);
  }

  /** Settles with `work`, but rejects at the deadline if that comes first. */
  async #withinDeadline<T>(work: Promise<T>, { deadline }: CallOptions): Promise<T> {
    const { clock } = this.options.runtime;
    const late = new AbortController();
    const stopTimer =
      deadline !== undefined &&
      clock.after(Math.max(0, Math.ceil(deadline - clock.nowMs())), () => late.abort(new ExpiredError()));
    try {
      return await abortable(late.signal, work);
    } finally {
      if (stopTimer) stopTimer();
    }
  }

  #throwIfExpired(context: ErrorContext, { deadline }: CallOptions): void {
    if (deadline !== undefined && this.options.runtime.clock.nowMs() >= deadline)
      throw notSent(context, 'deadline');
  }

  #report<T>(call: Call<T>, { context, result }: Outcome<T>, durationMs: number): void {
    const { requestId, httpStatus, serviceCode } = context;
    try {
      const { operation } = call;
      const outcome = 'error' in result ? result.error.code : 'OK';
      this.options.onCall?.(
        compact({ operation, requestId, durationMs, outcome, httpStatus, code: serviceCode }),
      );
    } catch {
      // An error of the observer must not change the result of the call.
    }
  }
}

const CALL_END: Record<Exchange['kind'], CallEnd> = {
  response: 'answered',
  'broken-response': 'answered',
  'no-response': 'unanswered',
  'not-received': 'unreachable',
  withheld: 'not-sent',
};

function gateReason(error: unknown): 'deadline' | 'paused' | 'gate' {
  if (error instanceof GateTooLateError) return 'deadline';
  return error instanceof GatePausedError ? 'paused' : 'gate';
}

/** Whether the provider reported the rate limit, in the status or the envelope. */
function wasRateLimited({ context }: { context: ErrorContext }): boolean {
  return context.httpStatus === 429 || context.serviceCode === '429';
}

/** `Retry-After` in seconds, or as a date, relative to the response's own date: clocks may differ. */
function retryAfterMs(exchange: Exchange): number | undefined {
  if (exchange.kind !== 'response') return undefined;
  const { retryAfter = '', date = '' } = exchange;
  if (/^\d{1,5}$/.test(retryAfter)) return Number(retryAfter) * 1_000;
  const ms = httpDateMs(retryAfter) - httpDateMs(date);
  return ms > 0 ? ms : undefined;
}

/** NaN for anything else: without `GMT`, a time would be read in the time zone of this machine. */
function httpDateMs(text: string): number {
  return text.endsWith(' GMT') ? Date.parse(text) : Number.NaN;
}

/** The token of a call, with its user (H15). */
interface Token {
  kind: TokenKind;
  openId: string | undefined;
  text: string;
}

interface Authorization {
  headers: Record<string, string>;
  token?: Token;
}

/** Throws `INVALID_REQUEST` if a user token is needed and `openId` is absent, and `NOT_SENT` if there is no token. */
async function authorizationHeaders(
  options: PaymentsClientOptions,
  operation: ApiOperation,
  context: ErrorContext,
  openId: string | undefined,
): Promise<Authorization> {
  const { token: place } = rulesOf(operation);
  if (place === 'none') return { headers: {} };
  const kind = place === 'gateway' ? options.gatewayToken : options.tradeToken;
  if (kind === 'user' && openId === undefined)
    throw invalidRequest(context, [
      { path: 'openId', message: 'is required, because this call uses a user token' },
    ]);
  const token = { kind, openId: kind === 'user' ? openId : undefined };
  const text = await tokenText(options, context, { ...token, creates: creates(operation) });
  const bare = place === 'trade' && options.tradeAuthScheme === 'none';
  return { headers: { authorization: bare ? text : `Bearer ${text}` }, token: { ...token, text } };
}

/** The characters that a header may contain. */
const HEADER_SAFE = /^[\x21-\x7e]+$/;

async function tokenText(
  options: PaymentsClientOptions,
  context: ErrorContext,
  request: TokenRequest,
): Promise<string> {
  const text = await options.tokens.token(request).catch((error: unknown) => {
    throw notSent(context, 'token', safeErrorName(error));
  });
  if (HEADER_SAFE.test(text)) return text;
  // Otherwise the source would return it for its whole lifetime.
  reportRejectedToken(options, { kind: request.kind, openId: request.openId, text });
  throw notSent(context, 'token', 'UnwritableToken');
}

/** An error of the token source must not change the result of the call. */
function reportRejectedToken({ tokens }: PaymentsClientOptions, { kind, openId, text }: Token): void {
  try {
    tokens.rejected?.(kind, openId, text);
  } catch {}
}
