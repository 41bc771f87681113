/** JSON without floating point: numbers are read and written with exactly their digits. */
import { isLosslessNumber, LosslessNumber, parse, stringify } from 'lossless-json';

const MAX_DEPTH = 64;
const STEPS: Readonly<Record<string, number>> = { '{': 1, '[': 1, '}': -1, ']': -1 };

interface ExactJsonLimits {
  /** The maximum nesting depth. Default 64. */
  maxDepth?: number;
  /** The maximum number of values, which may take many times the memory of their text. Default: any. */
  maxValues?: number;
  /** Rejects a repeated key even if both values are equal. Different values are always rejected. */
  uniqueKeys?: boolean;
  /** Reads bytes that are not UTF-8 as U+FFFD, instead of rejecting all of them. */
  replaceBadBytes?: boolean;
}

/** Thrown if bytes are not JSON within the limits. The message contains none of the input. */
export class NotJsonError extends Error {
  override readonly name = 'NotJsonError';
}

/** The exact digits of a number that `readExactJson` has read; undefined for any other value. */
export function exactNumberText(value: unknown): string | undefined {
  return isLosslessNumber(value) ? value.value : undefined;
}

/** A number that `writeExactJson` writes with exactly these digits. Throws if the text is not a number. */
export function jsonNumber(decimal: string): LosslessNumber {
  return new LosslessNumber(decimal);
}

/** Parses UTF-8 bytes. Numbers become objects that `exactNumberText` reads. Throws `NotJsonError`. */
export function readExactJson(bytes: Uint8Array, limits: ExactJsonLimits = {}): unknown {
  const text = decode(bytes, limits.replaceBadBytes);
  const shape = shapeOf(text);
  if (shape.depth > (limits.maxDepth ?? MAX_DEPTH)) throw new NotJsonError('nested too deeply');
  if (shape.commas >= (limits.maxValues ?? Number.POSITIVE_INFINITY))
    throw new NotJsonError('too many values');
  const value = parseText(text);
  if (limits.uniqueKeys && countKeys(value) !== shape.keys) throw new NotJsonError('a key is repeated');
  return value;
}

/**
 * Like `JSON.parse`, but only for input that every parser reads the same way: rejects repeated keys, the key
 * `__proto__`, which schemas silently drop, and bytes that are not UTF-8. Throws `NotJsonError`.
 */
export function readPlainJson(bytes: Uint8Array, limits: Pick<ExactJsonLimits, 'maxDepth'> = {}): unknown {
  const value = readExactJson(bytes, { ...limits, uniqueKeys: true });
  if (hasKey(value, (key) => key === '__proto__')) throw new NotJsonError('a key is __proto__');
  return JSON.parse(decode(bytes));
}

/** Whether `JSON.parse` accepts the text. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Whether `isWanted` accepts any key of the value, at any depth. */
export function hasKey(value: unknown, isWanted: (key: string) => boolean): boolean {
  if (Array.isArray(value)) return value.some((inner) => hasKey(inner, isWanted));
  if (!isJsonObject(value)) return false;
  return Object.entries(value).some(([key, inner]) => isWanted(key) || hasKey(inner, isWanted));
}

/** Serializes to UTF-8. Omits `undefined` members, and writes numbers from `jsonNumber` exactly. */
export function writeExactJson(value: unknown): Buffer {
  const text = stringify(value);
  if (text === undefined) throw new TypeError('nothing to write');
  return Buffer.from(text, 'utf8');
}

/** A copy with every number as its exact text, and every text as `read` returns it. */
export function numbersToText(value: unknown, read = (text: string) => text): unknown {
  if (Array.isArray(value)) return value.map((inner) => numbersToText(inner, read));
  if (typeof value === 'string') return read(value);
  if (!isJsonObject(value)) return exactNumberText(value) ?? value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, numbersToText(inner, read)]));
}

/** Whether the value is a JSON object: not an array, null, or a number from `readExactJson`. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isLosslessNumber(value);
}

function decode(bytes: Uint8Array, replaceBadBytes = false): string {
  try {
    return new TextDecoder('utf-8', { fatal: !replaceBadBytes }).decode(bytes);
  } catch {
    throw new NotJsonError('not UTF-8');
  }
}

function parseText(text: string): unknown {
  try {
    return parse(text, undefined, { onDuplicateKey: rejectDuplicateKey });
  } catch (error) {
    throw error instanceof NotJsonError ? error : new NotJsonError('not JSON');
  }
}

function rejectDuplicateKey(): never {
  throw new NotJsonError('a key is repeated');
}

/** Scans the text before parsing: its nesting depth, and the numbers of keys and of commas between values. */
function shapeOf(text: string): { depth: number; keys: number; commas: number } {
  let [open, depth, keys, commas, inString] = [0, 0, 0, 0, false];
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (char === '"') inString = !inString;
    else if (inString) at += char === '\\' ? 1 : 0;
    else if (char === ':') keys += 1;
    else if (char === ',') commas += 1;
    else {
      open += STEPS[char] ?? 0;
      depth = Math.max(depth, open);
    }
  }
  return { depth, keys, commas };
}

function countKeys(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, inner) => sum + countKeys(inner), 0);
  if (!isJsonObject(value)) return 0;
  return Object.values(value).reduce((sum: number, inner) => sum + 1 + countKeys(inner), 0);
}
