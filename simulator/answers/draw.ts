/**
 * Draws random values and records from what the spec's tables allow, and changes a true record in a few places: the false
 * answers that are easiest to believe.
 */
import { isLosslessNumber, LosslessNumber } from 'lossless-json';
import { isJsonObject, type JsonObject } from '../json.ts';
import { formatMinor, parseMinor } from '../money.ts';
import { chance, pick, pickWeighted, type Random, whole } from '../runtime.ts';
import type { Field, Fields, Shape } from './spec-records.ts';

const ABSENT = Symbol('absent');

/** A record with every mandatory field. Optional fields are present, null or absent. */
export function drawRecord(fields: Fields, random: Random): JsonObject {
  const record: JsonObject = {};
  for (const [name, field] of Object.entries(fields)) {
    const value = drawField(field, random);
    if (value !== ABSENT) record[name] = value;
  }
  return record;
}

function drawField({ shape, need }: Field, random: Random): unknown {
  if (need === 'optional' && chance(random, 0.3)) return ABSENT;
  if (need !== 'mandatory' && chance(random, 0.3)) return null;
  return drawValue(shape, random);
}

export function drawValue(shape: Shape, random: Random): unknown {
  switch (shape.is) {
    case 'text':
      return drawText(random, shape.max);
    case 'word':
      return chance(random, 0.9)
        ? pick(random, shape.words)
        : pick(random, [drawText(random, shape.max), shape.words[0].toLowerCase(), 'UNKNOWN']);
    case 'currency':
      return chance(random, 0.8) ? pick(random, CURRENCIES) : drawCode(random, whole(random, 1, shape.max));
    case 'flag':
      return pick(random, [true, true, false, false, 'true', 'false']);
    case 'amount':
      return numberOrText(random, drawAmount(random));
    case 'rate':
      return numberOrText(random, drawRate(random));
    case 'time':
      return drawTime(random);
    case 'seconds':
      return numberOrText(random, pick(random, SECONDS));
    case 'unspecified':
      return pick(random, ['2024-04-01', new LosslessNumber('20240401'), {}, null]);
    case 'record':
      return drawRecord(shape.fields, random);
    case 'entries':
      return drawEntries(shape.fields, random);
    case 'texts':
      return Array.from({ length: whole(random, 0, 3) }, () => drawText(random, 64));
  }
}

const CURRENCIES = ['CNY', 'CNY', 'USD', 'EUR', 'HKD'] as const;
const SECONDS = ['7200', '2592000', '15552000', '60', '1', '9999999999'] as const;
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const TEXT_LETTERS = `${LETTERS}abcdefghijklmnopqrstuvwxyz-_ é中'"\\<`;

/** 1 to `max` characters; sometimes exactly `max`. */
export function drawText(random: Random, max: number): string {
  const length = chance(random, 0.1) ? max : whole(random, 1, Math.min(max, 24));
  return Array.from({ length }, () => TEXT_LETTERS[whole(random, 0, TEXT_LETTERS.length - 1)]).join('');
}

function drawCode(random: Random, length: number): string {
  return Array.from({ length }, () => LETTERS[whole(random, 0, LETTERS.length - 1)]).join('');
}

/** Decimal text of at most 18 digits, two of them decimals. */
export function drawAmount(random: Random): string {
  if (chance(random, 0.4))
    return pick(random, ['0', '0.00', '0.01', '100.00', '9999999999999999.99', '9999999999999999']);
  const digits = Array.from({ length: whole(random, 1, 16) }, () => whole(random, 0, 9)).join('');
  const fraction = pick(random, ['', `.${whole(random, 0, 9)}`, `.${whole(random, 10, 99)}`]);
  return `${digits.replace(/^0+(?=\d)/, '')}${fraction}`;
}

function drawRate(random: Random): string {
  if (chance(random, 0.3)) return pick(random, ['1', '0.000001', '999999999', '7.1234', '1e-7']);
  return `${whole(random, 0, 20)}.${String(whole(random, 0, 9999)).padStart(4, '0')}`;
}

/** Seconds, milliseconds, an empty text, or an invalid time. */
function drawTime(random: Random): unknown {
  const now = 1_700_000_000 + whole(random, 0, 100_000_000);
  return pick<unknown>(random, [
    new LosslessNumber(String(now)),
    new LosslessNumber(String(now * 1000)),
    String(now),
    '',
    new LosslessNumber('0'),
    new LosslessNumber('9223372036854775807'),
  ]);
}

function drawEntries(fields: Fields, random: Random): unknown {
  const entries = Array.from({ length: whole(random, 0, 4) }, () => drawRecord(fields, random));
  if (entries.length === 0) return pick<unknown>(random, [[], {}, null]);
  return entries.length === 1 && chance(random, 0.5) ? entries[0] : entries;
}

/** The spec's tables and samples disagree about numbers and text. */
function numberOrText(random: Random, digits: string): unknown {
  return chance(random, 0.7) ? new LosslessNumber(digits) : digits;
}

const MAX_CHANGES = 3;

/** Changes one to three fields of `record`. `others` are records of the same kind to borrow values from. */
export function changedRecord(
  record: JsonObject,
  fields: Fields,
  random: Random,
  others: readonly unknown[],
): JsonObject {
  let changed = record;
  for (let left = whole(random, 1, MAX_CHANGES); left > 0; left -= 1)
    changed = changedOnce(changed, fields, random, pick(random, others));
  return changed;
}

function changedOnce(record: JsonObject, fields: Fields, random: Random, other: unknown): JsonObject {
  const name = pick(random, Object.keys(fields));
  const field = name === undefined ? undefined : fields[name];
  if (name === undefined || field === undefined) return record;
  const current = record[name];
  const borrowed = isJsonObject(other) ? other[name] : undefined;
  const { shape } = field;
  if (shape.is === 'record' && isJsonObject(current) && chance(random, 0.9))
    return { ...record, [name]: changedOnce(current, shape.fields, random, borrowed) };
  if (shape.is === 'entries' && chance(random, 0.9))
    return { ...record, [name]: changedEntries(current, shape.fields, random, borrowed) };
  return withChangedField(record, name, field, borrowed, random);
}

function withChangedField(
  record: JsonObject,
  name: string,
  { shape }: Field,
  borrowed: unknown,
  random: Random,
): JsonObject {
  const { [name]: current, ...rest } = record;
  switch (
    pickWeighted(random, [
      ['near', 5],
      ['drawn', 4],
      ['borrowed', 2],
      ['absent', 1],
      ['null', 1],
      ['other-type', 1],
    ])
  ) {
    case 'near':
      return { ...record, [name]: nearby(current, shape, random) };
    case 'drawn':
      return { ...record, [name]: drawValue(shape, random) };
    case 'borrowed':
      return { ...record, [name]: borrowed ?? drawValue(shape, random) };
    case 'absent':
      return rest;
    case 'null':
      return { ...record, [name]: null };
    case 'other-type':
      return { ...record, [name]: pick<unknown>(random, OTHER_TYPES) };
  }
}

const OTHER_TYPES = [
  '',
  'null',
  [],
  {},
  true,
  new LosslessNumber('-1'),
  new LosslessNumber('0.001'),
  new LosslessNumber('1e400'),
  new LosslessNumber('12345678901234567890.12'),
] as const;

/** A value close to the original. */
function nearby(value: unknown, shape: Shape, random: Random): unknown {
  if (shape.is === 'flag') return value !== true;
  if (shape.is === 'amount') return nearbyAmount(value, random) ?? drawValue(shape, random);
  if (shape.is === 'text' && typeof value === 'string' && value !== '')
    return pick(random, [value.slice(0, -1), `${value}0`, ` ${value}`]).slice(0, shape.max);
  if (shape.is === 'word' && typeof value === 'string')
    return pick(
      random,
      shape.words.filter((word) => word !== value),
    );
  return drawValue(shape, random);
}

function nearbyAmount(value: unknown, random: Random): LosslessNumber | undefined {
  const minor = isLosslessNumber(value) ? parseMinor(value.toString()) : undefined;
  if (minor === undefined) return undefined;
  const next = pick(random, [minor + 1n, minor > 0n ? minor - 1n : 1n, minor * 2n, 0n]);
  const text = formatMinor(next);
  return new LosslessNumber(parseMinor(text) === undefined ? '9999999999999999.99' : text);
}

function changedEntries(current: unknown, fields: Fields, random: Random, borrowed: unknown): unknown {
  const entries = asEntries(current);
  const at = whole(random, 0, Math.max(entries.length - 1, 0));
  const entry = entries[at];
  const change = pickWeighted(random, [
    ['change', 6],
    ['add', 1],
    ['repeat', 1],
    ['drop', 1],
    ['empty', 1],
    ['borrow', 1],
    ['alone', 1],
    ['odd', 1],
  ]);
  if (change === 'empty') return pick<unknown>(random, [[], {}, null, '']);
  if (change === 'borrow') return borrowed ?? [];
  if (entry === undefined || change === 'add') return [...entries, drawRecord(fields, random)];
  if (change === 'repeat') return [...entries, entry];
  if (change === 'drop') return entries.filter((_, index) => index !== at);
  if (change === 'alone') return entry;
  const odd = change === 'odd' || !isJsonObject(entry);
  const changed = odd
    ? pick<unknown>(random, [null, 'odd', [], {}])
    : changedOnce(entry, fields, random, asEntries(borrowed)[0]);
  return entries.map((value, index) => (index === at ? changed : value));
}

/** Reads a list, a single entry or nothing as a list. */
export function asEntries(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  return isJsonObject(value) && Object.keys(value).length > 0 ? [value] : [];
}
