/**
 * Envelopes of answers: code 0/OK under /v2 and /v3, code 200/SUCCESS under /v1/mid-open-api. How this provider writes true
 * answers, where the spec leaves it open: numbers, echoes, ids and the encoding.
 */

import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { isLosslessNumber, LosslessNumber } from 'lossless-json';
import { isJsonObject, writeJson } from '../json.ts';
import type { Settings } from '../settings.ts';

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

type Dials = Pick<Settings, 'numberStyle' | 'echo' | 'tradeOrderId'>;
type Writer = (value: unknown, key: string, dials: Dials) => unknown;

const IDS = ['outOrderId', 'partner_order_id', 'client_id'];
const BENEFICIARY = ['bankAccountNumber', 'bankAccountName', 'bankName'];
const AMOUNT = /^(?:amount|balance|\w+_(?:amount|balance))$/;

export function inDialect(data: unknown, dials: Dials): unknown {
  const isPlain = dials.numberStyle === 'plain' && dials.echo === 'exact' && dials.tradeOrderId === 'same';
  return isPlain ? data : written(data, '', dials);
}

function written(value: unknown, key: string, dials: Dials): unknown {
  if (Array.isArray(value)) return value.map((inner) => written(inner, key, dials));
  if (isLosslessNumber(value) || !isJsonObject(value))
    return WRITERS.reduce((text, write) => write(text, key, dials), value);
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, written(inner, name, dials)]),
  );
}

const WRITERS: readonly Writer[] = [
  (value, key, { numberStyle }) =>
    numberStyle === 'exponent' && AMOUNT.test(key) && isLosslessNumber(value)
      ? new LosslessNumber(withExponent(value.value))
      : value,
  (value, _key, { numberStyle }) =>
    numberStyle === 'text' && (isLosslessNumber(value) || typeof value === 'number') ? String(value) : value,
  (value, key, { echo }) => {
    if (typeof value !== 'string') return value;
    if (echo === 'masked' && BENEFICIARY.includes(key)) return masked(value);
    const isNormalized = echo === 'normalized' && [...IDS, ...BENEFICIARY].includes(key);
    return isNormalized ? value.toUpperCase().replace(/[-_. ]/g, '') : value;
  },
  (value, key, { tradeOrderId }) =>
    tradeOrderId === 'own' && key === 'order_id' && typeof value === 'string' ? `T-${value}` : value,
];

/** As Java writes a double: `1.0E7`. */
function withExponent(decimal: string): string {
  const [whole = '0', fraction = ''] = decimal.split('.');
  const digits = `${whole}${fraction}`.replace(/^0+(?=\d)/, '').replace(/0+$/, '');
  if (digits === '') return '0.0';
  const exponent =
    whole === '0' ? -(fraction.length - fraction.replace(/^0+/, '').length) - 1 : whole.length - 1;
  return `${digits.slice(0, 1)}.${digits.slice(1) || '0'}E${exponent}`;
}

/** Of a long text, four characters at each end are visible; of a short one, the first. */
function masked(text: string): string {
  return text.length > 8 ? `${text.slice(0, 4)}****${text.slice(-4)}` : `${text.slice(0, 1)}**`;
}

const ENCODERS = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync };

export function encoded(answer: Answer, { contentEncoding }: Settings): Answer {
  const { text, body = Buffer.from(text), headers } = answer;
  if (contentEncoding === 'none' || body.length === 0) return answer;
  return {
    ...answer,
    body: ENCODERS[contentEncoding](body),
    headers: { ...headers, 'content-encoding': contentEncoding },
  };
}
