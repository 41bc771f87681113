/** Reads `{code, message, data}` from an answer, and says what sort of answer it is (spec: Conventions). */
import { exactNumberText, isJsonObject, NotJsonError, readExactJson } from './exact-json.ts';
import type { EnvelopeStyle } from './operations.ts';

/**
 * `empty`: no body. `unreadable`: not the service's JSON at all, such as a gateway's HTML page.
 * `doubtful`: it began to say something that cannot be trusted: cut JSON, or another style's success code.
 * `broken`: the connection ended inside it. The rest is what an envelope's code says.
 */
export type AnswerKind =
  | 'success'
  | 'limited'
  | 'unauthorised'
  | 'system'
  | 'illegal'
  | 'no-order'
  | 'other-code'
  | 'empty'
  | 'unreadable'
  | 'doubtful'
  | 'broken';

export interface Answer {
  kind: AnswerKind;
  /** The envelope's code as text, where there is one. */
  serviceCode?: string;
  /** The envelope's `data`, or a bare record. */
  data?: unknown;
  /** Where `data` stands, for error messages: `data.` or nothing. */
  dataPath: string;
}

const SUCCESS_CODES: Record<EnvelopeStyle, readonly string[]> = {
  A: ['0'],
  B: ['200'],
  plain: ['0', '200'],
};

/** The spec names the 900… codes for the trade endpoints; elsewhere they are taken to mean the same. */
const NAMED_CODES: Readonly<Record<string, AnswerKind>> = {
  '401': 'unauthorised',
  '403': 'unauthorised',
  '429': 'limited',
  '900000': 'system',
  '900002': 'illegal',
  '900004': 'no-order',
};

/** `body` undefined: the answer broke off. */
export function readAnswer(style: EnvelopeStyle, httpStatus: number, body: Buffer | undefined): Answer {
  if (body === undefined) return { kind: 'broken', dataPath: '' };
  if (body.length === 0) return { kind: 'empty', dataPath: '' };
  const value = readOrNothing(body);
  if (value === undefined) return { kind: looksLikeJson(body) ? 'doubtful' : 'unreadable', dataPath: '' };
  if (!isJsonObject(value)) return { kind: 'unreadable', dataPath: '' };
  if (isEnvelope(style, value)) return readEnvelope(style, value);
  const bareRecord = style === 'plain' && httpStatus >= 200 && httpStatus < 300;
  return bareRecord ? { kind: 'success', data: value, dataPath: '' } : { kind: 'unreadable', dataPath: '' };
}

function readEnvelope(style: EnvelopeStyle, envelope: Record<string, unknown>): Answer {
  const serviceCode = codeText(envelope['code']);
  if (serviceCode === undefined) return { kind: 'doubtful', dataPath: '' };
  const kind = kindOf(style, serviceCode);
  return { kind, serviceCode, data: envelope['data'], dataPath: 'data.' };
}

function kindOf(style: EnvelopeStyle, code: string): AnswerKind {
  if (SUCCESS_CODES[style].includes(code)) return 'success';
  if (SUCCESS_CODES.plain.includes(code)) return 'doubtful';
  return Object.hasOwn(NAMED_CODES, code) ? (NAMED_CODES[code] ?? 'other-code') : 'other-code';
}

/** A bare record may have a `code` of its own (a bank code, say); an envelope has little else. */
function isEnvelope(style: EnvelopeStyle, value: Record<string, unknown>): boolean {
  if (!Object.hasOwn(value, 'code')) return false;
  if (style !== 'plain') return true;
  return Object.hasOwn(value, 'data') || Object.hasOwn(value, 'message') || Object.keys(value).length === 1;
}

/** The spec's samples write codes as numbers; text is read as well (H26). */
function codeText(code: unknown): string | undefined {
  const text = typeof code === 'string' ? code.trim() : exactNumberText(code);
  return text === '' ? undefined : text;
}

function readOrNothing(body: Buffer): unknown {
  try {
    return readExactJson(body);
  } catch (error) {
    if (error instanceof NotJsonError) return undefined;
    throw error;
  }
}

function looksLikeJson(body: Buffer): boolean {
  return /^\s*[{[]/.test(body.subarray(0, 64).toString('latin1'));
}
