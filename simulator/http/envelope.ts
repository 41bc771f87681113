/** Envelopes of answers: code 0/OK under /v2 and /v3, code 200/SUCCESS under /v1/mid-open-api. */
import { writeJson } from '../json.ts';
import type { Settings } from '../settings.ts';
import { inDialect } from './dialect.ts';

/** `V1`: /v1/accounts and /v1/payments, where the spec shows no envelope and a setting decides. */
export type Style = 'A' | 'B' | 'V1';
export type Code = number | string;

export interface Answer {
  status: number;
  contentType: string;
  text: string;
  /** The bytes to send, if they are not those of `text`. */
  body?: Buffer;
  code: Code | null;
  headers?: Record<string, string>;
}

/** Thrown to refuse a request, before anything has changed. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: Code;
  readonly status: number;

  constructor(code: Code, message: string, status = 200) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

export const ILLEGAL_PARAM = 900002;
export const ORDER_NOT_EXIST = 900004;
export const RATE_LIMITED = 429;
export const UNAUTHORIZED = 401;

export function illegalParam(field: string): Refusal {
  return new Refusal(ILLEGAL_PARAM, `illegal param: ${field}`);
}

export function jsonAnswer(status: number, body: unknown, code: Code | null): Answer {
  return { status, contentType: 'application/json; charset=utf-8', text: writeJson(body), code };
}

export function success(style: Style, record: unknown, status: number, settings: Settings): Answer {
  const data = inDialect(record, settings);
  if (style === 'V1' && settings.v1Envelope === 'bare') return jsonAnswer(status, data, null);
  return style === 'B' ? envelope(status, 200, 'SUCCESS', data) : envelope(status, 0, 'OK', data);
}

/** Errors look the same in both styles: a code, a message and null as `data`. */
export function failure(status: number, code: Code, message: string): Answer {
  return envelope(status, code, message, null);
}

export function noSuchEndpoint(): Answer {
  return failure(404, 404, 'no such endpoint');
}

export function rateLimited(settings: Settings): Answer {
  return failure(settings.rateLimitStyle === 'http' ? 429 : 200, RATE_LIMITED, 'too many requests');
}

export function unauthorized(settings: Settings, message: string): Refusal {
  return new Refusal(UNAUTHORIZED, message, settings.unauthorizedStyle === 'http' ? 401 : 200);
}

function envelope(status: number, code: Code, message: string, data: unknown): Answer {
  return jsonAnswer(status, { code, message, data }, code);
}
