/** Draws random values and records from what the spec's tables allow. */
import { LosslessNumber } from 'lossless-json';
import type { JsonObject } from '../json.ts';
import { chance, pick, type Random, whole } from '../random.ts';
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
