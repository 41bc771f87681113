/** A call of an operation: its effect, at most once, if its token and signature authorize it, and its answer. */

import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Order } from '../orders/order.ts';
import { sleep } from '../runtime.ts';
import type { Settings } from '../settings.ts';
import type { CallRecord, CreateRecord } from '../state/ledger.ts';
import type { AccessToken, TokenState } from '../state/tokens.ts';
import type { World } from '../world.ts';
import { type Answer, encoded, failure, Refusal, success, unauthorized } from './envelope.ts';
import type { Operation, Outcome, Received } from './operation.ts';

/** A request, over HTTP or in process. */
export interface Incoming {
  params: Record<string, string>;
  query: Record<string, string>;
  headers: IncomingHttpHeaders;
  rawBody: string;
  arrivedAtMs: number;
  /** Its connection has carried a request before. */
  isOnUsedConnection: boolean;
}

/** Takes the answer to one request, once. */
export interface AnswerSink {
  send(answer: Answer): void;
  /** Ends the connection without an answer. */
  drop(): void;
  /** Announces the whole body and sends half of it. Resolves once that half is written. */
  sendHalf(answer: Answer): Promise<HalfSent>;
}

export interface HalfSent {
  sendRest(): void;
  /** Ends the connection. */
  cut(): void;
}

export interface ExchangeParts {
  operation: Operation;
  received: Received;
  credential: Credential;
  sink: AnswerSink;
  call: CallRecord;
  create: CreateRecord | undefined;
}

export class Exchange {
  readonly operation: Operation;
  readonly received: Received;
  readonly #parts: ExchangeParts;
  #created: Order | undefined;
  #truth: Answer | undefined;

  constructor(parts: ExchangeParts) {
    this.#parts = parts;
    this.operation = parts.operation;
    this.received = parts.received;
  }

  /** Lets the request take effect. `showAfterMs` is the delay until trade queries find the created order. */
  async perform(showAfterMs?: number): Promise<Answer> {
    this.#truth = await this.#perform(showAfterMs);
    return this.#truth;
  }

  async #perform(showAfterMs: number | undefined): Promise<Answer> {
    const { operation, received, create } = this.#parts;
    try {
      const granted = authorize(operation, this.#parts.credential, received);
      const outcome = operation.handle({ ...received, ...granted });
      if (outcome.created && showAfterMs !== undefined)
        outcome.created.visibleAtMs = outcome.created.createdAtMs + showAfterMs;
      this.#recordEffect(outcome);
      this.#created = outcome.created;
      await outcome.beforeAnswer?.();
      return success(operation.style, outcome.data, outcome.status ?? 200, received.world.settings);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (create) create.effect = 'refused';
      return failure(error.status, error.code, error.message);
    }
  }

  /** This request created an order. */
  get wasCreated(): boolean {
    return this.#created !== undefined;
  }

  /** The data of a success, without the effect; undefined if the request would be refused. */
  preview(): unknown {
    const { operation, received } = this.#parts;
    try {
      const granted = authorize(operation, this.#parts.credential, received);
      return operation.preview?.({ ...received, ...granted });
    } catch (error) {
      if (error instanceof Refusal) return undefined;
      throw error;
    }
  }

  /** Sends a false answer and records its `sort` with the call. */
  sendFalse(answer: Answer, sort: string): void {
    this.#parts.call.fault = `${this.#parts.call.fault} ${sort}`;
    this.send(answer);
  }

  send(answer: Answer): void {
    if (this.#created && answer === this.#truth) this.#created.isKnown = true;
    this.#recordAnswer(answer.status, answer.code);
    this.#parts.sink.send(encoded(answer, this.received.world.settings));
  }

  /** Ends the connection without an answer. */
  drop(): void {
    this.#recordAnswer('dropped', null);
    this.#parts.sink.drop();
  }

  /** Announces the whole body, sends half of it, and the rest after `pauseMs`. Without `pauseMs`, cuts the connection. */
  async sendInHalves(answer: Answer, pauseMs: number | undefined): Promise<void> {
    this.#recordAnswer(pauseMs === undefined ? 'dropped' : answer.status, answer.code);
    const half = await this.#parts.sink.sendHalf(answer);
    if (pauseMs === undefined) {
      half.cut();
      return;
    }
    await sleep(this.received.world.clock, pauseMs);
    half.sendRest();
  }

  #recordEffect(outcome: Outcome): void {
    const { create, received } = this.#parts;
    if (!create) return;
    create.effect = 'committed';
    create.orderId = outcome.created?.orderId ?? null;
    create.lockAgeMs = received.world.locks.ageMs(outcome.created?.lockRateId ?? '');
  }

  #recordAnswer(status: number | 'dropped', code: number | string | null): void {
    const { call, create, received } = this.#parts;
    call.status = status;
    call.code = code;
    if (status === 429 || code === 429) received.world.ledger.answered429 += 1;
    if (!create) return;
    create.answered = status;
    create.code = code;
    if (create.effect === 'pending') create.effect = 'dropped';
  }
}

export interface Credential {
  state: TokenState;
  record: AccessToken | undefined;
  scheme: 'bearer' | 'bare';
}

const BEARER = /^Bearer +/i;

export function credentialOf(world: World, authorization: string | undefined): Credential {
  if (!authorization) return { state: 'missing', record: undefined, scheme: 'bare' };
  const scheme = BEARER.test(authorization) ? 'bearer' : 'bare';
  return { ...world.tokens.lookUp(authorization.replace(BEARER, '').trim()), scheme };
}

/** Returns the application and the token of the request. Throws the provider's refusal. */
export function authorize(
  operation: Operation,
  credential: Credential,
  received: Received,
): Pick<Received, 'app' | 'token'> {
  const { settings, apps } = received.world;
  if (operation.auth === 'none') return { app: undefined, token: undefined };
  const { record, state } = credential;
  if (!record || state !== 'valid') throw unauthorized(settings, `access token ${state}`);
  checkPlacement(operation, credential, record, settings);
  if (operation.auth === 'trade') checkSignature(operation, received, settings);
  return { app: apps.get(record.appId), token: record };
}

function checkPlacement(
  operation: Operation,
  credential: Credential,
  record: AccessToken,
  settings: Settings,
): void {
  const wanted = operation.auth === 'trade' ? settings.tradeToken : settings.gatewayToken;
  if (wanted !== 'any' && wanted !== record.kind)
    throw unauthorized(settings, `this endpoint takes the ${wanted} token`);
  const scheme = operation.auth === 'trade' ? settings.tradeAuthScheme : 'any';
  if (scheme !== 'any' && scheme !== credential.scheme)
    throw unauthorized(settings, `this endpoint takes the ${scheme} token form`);
}

/** Accepts hex and base64: the spec names neither the algorithm nor the header. */
function checkSignature(operation: Operation, received: Received, settings: Settings): void {
  if (settings.signatureSecret === '') return;
  const given = received.headers[settings.signatureHeader.toLowerCase()];
  const expected = createHmac('sha256', settings.signatureSecret)
    .update(signedContent(operation, received, settings))
    .digest();
  const candidates =
    typeof given === 'string' ? [Buffer.from(given, 'hex'), Buffer.from(given, 'base64')] : [];
  const matches = candidates.some(
    (candidate) => candidate.length === expected.length && timingSafeEqual(candidate, expected),
  );
  if (!matches) throw unauthorized(settings, 'signature not valid');
}

function signedContent(operation: Operation, received: Received, settings: Settings): string {
  if (settings.signatureContent === 'body') return received.rawBody;
  const timestamp = String(received.headers['x-timestamp']);
  return [operation.method, operation.path, timestamp, received.rawBody].join('\n');
}
