/** Reads `{code, message, data}` from a response and determines the kind of the response (spec: Conventions). */
import { isPlainText } from '../domain/provider-text.ts';
import { exactNumberText, hasKey, isJsonObject, NotJsonError, readExactJson } from './exact-json.ts';
import type { EnvelopeStyle } from './operations.ts';
import { description } from './wire/scalars.ts';

/**
 * `empty`: no body. `unreadable`: not the provider's JSON, such as a gateway's HTML page. `doubtful`: truncated JSON, a code
 * that means success elsewhere, or "order not exist" with an order. `broken`: the connection ended within the body. The
 * other kinds follow from the envelope's code.
 */
export type ResponseKind =
  | 'success'
  | 'limited'
  | 'unauthorized'
  | 'system'
  | 'illegal'
  | 'no-order'
  | 'other-code'
  | 'empty'
  | 'unreadable'
  | 'doubtful'
  | 'broken';

export interface ReadResponse {
  kind: ResponseKind;
  /** The envelope's code as text, if there is one. */
  serviceCode?: string;
  /** The envelope's `message`, cleaned. */
  message?: string | undefined;
  /** The envelope's `data`, or a bare record. */
  data?: unknown;
}

const shownMessage = description(128);

const SUCCESS_CODES: Record<EnvelopeStyle, readonly string[]> = {
  A: ['0'],
  B: ['200'],
  plain: ['0', '200'],
};

/** Success in another envelope style, or in the words of HTTP: it proves no refusal (H232). */
const SUCCESS_ELSEWHERE = /^(?:0|2\d\d|ok|success)$/i;

/** The spec lists the 900… codes for the trade endpoints. We assume the same meaning for the other endpoints. */
const NAMED_CODES: ReadonlyMap<string, ResponseKind> = new Map([
  ['401', 'unauthorized'],
  ['403', 'unauthorized'],
  ['429', 'limited'],
  ['900000', 'system'],
  ['900002', 'illegal'],
  ['900004', 'no-order'],
]);

/** `body` is undefined if the response broke off. */
export function readResponse(
  style: EnvelopeStyle,
  httpStatus: number,
  body: Buffer | undefined,
): ReadResponse {
  if (body === undefined) return { kind: 'broken' };
  if (body.length === 0) return { kind: 'empty' };
  const value = tryRead(body);
  if (value === undefined) return { kind: looksLikeJson(body) ? 'doubtful' : 'unreadable' };
  if (!isJsonObject(value)) return { kind: 'unreadable' };
  if (isEnvelope(style, value)) return readEnvelope(style, value);
  const bareRecord = style === 'plain' && httpStatus >= 200 && httpStatus < 300;
  return bareRecord ? { kind: 'success', data: value } : { kind: 'unreadable' };
}

function readEnvelope(style: EnvelopeStyle, envelope: Record<string, unknown>): ReadResponse {
  const serviceCode = codeText(envelope['code']);
  if (serviceCode === undefined) return { kind: 'doubtful' };
  const data = envelope['data'];
  const named = kindOf(style, serviceCode);
  const kind = named === 'no-order' && isOrder(data) ? 'doubtful' : named;
  return { kind, serviceCode, message: messageOf(envelope), data };
}

function messageOf({ message }: Record<string, unknown>): string | undefined {
  return shownMessage.safeParse(message).data;
}

/** Whether `data` has the provider's id of an order, in either spelling. An error may repeat our own id. */
function isOrder(data: unknown): boolean {
  const ids = isJsonObject(data) ? [data['order_id'], data['orderId']] : [];
  return ids.some((id) => typeof id === 'string' && id !== '');
}

function kindOf(style: EnvelopeStyle, code: string): ResponseKind {
  if (SUCCESS_CODES[style].includes(code)) return 'success';
  if (SUCCESS_ELSEWHERE.test(code)) return 'doubtful';
  return NAMED_CODES.get(code) ?? 'other-code';
}

/** A bare record may have its own field `code`, such as a bank code. An envelope has few other fields. */
function isEnvelope(style: EnvelopeStyle, value: Record<string, unknown>): boolean {
  if (!Object.hasOwn(value, 'code')) return false;
  if (style !== 'plain') return true;
  return Object.hasOwn(value, 'data') || Object.hasOwn(value, 'message') || Object.keys(value).length === 1;
}

/** The spec's samples have numeric codes. Text is accepted too (H26). */
function codeText(code: unknown): string | undefined {
  const text = typeof code === 'string' ? code.trim() : exactNumberText(code);
  return text === undefined || text === '' || !isPlainText(text) ? undefined : text;
}

/** A bad byte may be in a description only: the schemas of all other fields reject it (H200). */
function tryRead(body: Buffer): unknown {
  try {
    const value = readExactJson(body, { replaceBadBytes: true });
    return hasKey(value, (key) => !isPlainText(key)) ? undefined : value;
  } catch (error) {
    if (error instanceof NotJsonError) return undefined;
    throw error;
  }
}

function looksLikeJson(body: Buffer): boolean {
  return /^\s*[{[]/.test(body.subarray(0, 64).toString('latin1'));
}
