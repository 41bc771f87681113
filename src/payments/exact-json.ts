/** JSON without floats: numbers are read as the digits that stand there, and amounts written so. */
import { isLosslessNumber, LosslessNumber, parse, stringify } from 'lossless-json';

const MAX_DEPTH = 64;
const STEPS: Readonly<Record<string, number>> = { '{': 1, '[': 1, '}': -1, ']': -1 };

export interface ExactJsonLimits {
  /** Objects and arrays inside each other, default 64. */
  maxDepth?: number;
  /** Refuse a repeated key even when both values agree; differing values are always refused. */
  uniqueKeys?: boolean;
}

/** Thrown when bytes are not JSON within the limits. Its message quotes nothing of them. */
export class NotJsonError extends Error {
  override readonly name = 'NotJsonError';
}

/** A number as written on the wire; `text` has all its digits. */
export function exactNumberText(value: unknown): string | undefined {
  return isLosslessNumber(value) ? value.value : undefined;
}

/** Decimal text that `writeExactJson` puts down as a JSON number, digit by digit. Throws on anything else. */
export function jsonNumber(decimal: string): LosslessNumber {
  return new LosslessNumber(decimal);
}

/** Parses UTF-8 bytes; numbers become objects that `exactNumberText` reads. Throws `NotJsonError`. */
export function readExactJson(bytes: Uint8Array, limits: ExactJsonLimits = {}): unknown {
  const text = decode(bytes);
  const shape = shapeOf(text);
  if (shape.depth > (limits.maxDepth ?? MAX_DEPTH)) throw new NotJsonError('nested too deeply');
  const value = parseText(text);
  if (limits.uniqueKeys && countKeys(value) !== shape.keys) throw new NotJsonError('a key is repeated');
  return value;
}

/**
 * As `JSON.parse` reads it, but only what every reader reads the same: a repeated key is refused, and so are `__proto__`,
 * which schemas leave out in silence, and bytes that are not UTF-8. Throws `NotJsonError`.
 */
export function readPlainJson(bytes: Uint8Array): unknown {
  const value = readExactJson(bytes, { uniqueKeys: true });
  if (namesPrototype(value)) throw new NotJsonError('a key is __proto__');
  return JSON.parse(decode(bytes));
}

function namesPrototype(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(namesPrototype);
  if (!isJsonObject(value)) return false;
  return Object.hasOwn(value, '__proto__') || Object.values(value).some(namesPrototype);
}

/** Serializes; `undefined` members are left out, numbers made by `jsonNumber` are written exactly. */
export function writeExactJson(value: unknown): Buffer {
  const text = stringify(value);
  if (text === undefined) throw new TypeError('nothing to write');
  return Buffer.from(text, 'utf8');
}

/** The same value with every number as its exact text. */
export function numbersToText(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(numbersToText);
  if (!isJsonObject(value)) return exactNumberText(value) ?? value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, numbersToText(inner)]));
}

/** True for `{…}`: not for arrays, null, or numbers as read here. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isLosslessNumber(value);
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new NotJsonError('not UTF-8');
  }
}

function parseText(text: string): unknown {
  try {
    return parse(text, undefined, { onDuplicateKey: refuseRepeated });
  } catch (error) {
    throw error instanceof NotJsonError ? error : new NotJsonError('not JSON');
  }
}

function refuseRepeated(): never {
  throw new NotJsonError('a key is repeated');
}

/** One pass before parsing: how deep it nests, and how many `key:` there are outside of strings. */
function shapeOf(text: string): { depth: number; keys: number } {
  let [open, depth, keys, inString] = [0, 0, 0, false];
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (char === '"') inString = !inString;
    else if (inString) at += char === '\\' ? 1 : 0;
    else {
      open += STEPS[char] ?? 0;
      depth = Math.max(depth, open);
      keys += char === ':' ? 1 : 0;
    }
  }
  return { depth, keys };
}

function countKeys(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, inner) => sum + countKeys(inner), 0);
  if (!isJsonObject(value)) return 0;
  return Object.values(value).reduce((sum: number, inner) => sum + 1 + countKeys(inner), 0);
}
