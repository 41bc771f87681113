/** The scalars of the provider's responses, in every spelling that the spec uses. */
import { z } from 'zod';
import { type Compact, compact } from '../../contract/compact.ts';
import { type Money, normalizeAmount } from '../../contract/money.ts';
import { isDamaged, isPlainText, plainText } from '../../domain/provider-text.ts';
import { exactNumberText, isJsonObject } from '../exact-json.ts';

/** A schema from a function that returns undefined for a bad value. Messages never contain the value. */
function parsedBy<T>(read: (value: unknown) => T | undefined, expected: string): z.ZodType<T> {
  return z.unknown().transform((value, context) => {
    const result = read(value);
    if (result !== undefined) return result;
    context.addIssue({ code: 'custom', message: `expected ${expected}` });
    return z.NEVER;
  });
}

/** Optional as in the spec: absent, null and `""` are equivalent. */
export function orAbsent<T>(schema: z.ZodType<T>): z.ZodType<T | undefined> {
  return z
    .unknown()
    .optional()
    .transform((value, context) =>
      value === undefined || value === null || value === '' ? undefined : parsed(schema, value, [], context),
    );
}

/** An id, a code or a status of 1 to `max` characters. It decides, so it is never corrected. */
export function text(max: number): z.ZodType<string> {
  return textThat(isPlainText, max);
}

/** A token is never shown. One that no HTTP header can carry is rejected where it is sent (H133). */
export function token(max: number): z.ZodType<string> {
  return textThat((value) => !isDamaged(value), max);
}

function textThat(isAllowed: (value: string) => boolean, max: number): z.ZodType<string> {
  return parsedBy((value) => {
    if (typeof value !== 'string' || value === '' || value.length > max) return undefined;
    return isAllowed(value) ? value : undefined;
  }, `text of 1 to ${max} characters, without control characters`);
}

/** The name of a beneficiary or a bank, which is compared. */
export function name(max: number): z.ZodType<string> {
  return z
    .unknown()
    .transform((value) => (typeof value === 'string' ? plainText(value) : value))
    .pipe(text(max));
}

/**
 * A description for operators. Neither its length nor a bad character may hide a result, so it is truncated to `max`
 * characters, and what cannot be shown is removed.
 */
export function description(max: number): z.ZodType<string | undefined> {
  return orAbsent(
    parsedBy((value) => (typeof value === 'string' ? plainText(value.slice(0, max)) : undefined), 'text'),
  ).transform((shown) => shown || undefined);
}

/** A boolean, or its text. */
export const flag: z.ZodType<boolean> = parsedBy((value) => {
  if (value === true || value === 'true') return true;
  return value === false || value === 'false' ? false : undefined;
}, 'true or false');

/** A positive integer of seconds, as a number or text. */
export const seconds: z.ZodType<number> = parsedBy((value) => {
  const digits = numericText(value);
  return digits !== undefined && /^[1-9]\d{0,9}$/.test(digits) ? Number(digits) : undefined;
}, 'a whole number of seconds');

/** A list: an array, a single object, or nothing (absent, null, `""` or `{}`). */
export function entries<T>(schema: z.ZodType<T>): z.ZodType<T[]> {
  return z.unknown().optional().transform(asList).pipe(z.array(schema));
}

/**
 * The digits of a JSON number, or the text itself. Writers of doubles use an exponent for large and small numbers, such as
 * `1.0E7`: it is read as `10000000` (H231).
 */
function numericText(value: unknown): string | undefined {
  const written = writtenText(value);
  const [, whole, fraction = '', exponent] =
    /^(\d{1,18})(?:\.(\d{1,24}))?[eE]([+-]?\d{1,2})$/.exec(written ?? '') ?? [];
  return whole === undefined ? written : movePoint(whole, fraction, Number(exponent));
}

function writtenText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : exactNumberText(value);
}

function asList(value: unknown): unknown {
  if (value === undefined || value === null || value === '' || Array.isArray(value)) return value || [];
  return typeof value === 'object' && Object.keys(value).length === 0 ? [] : [value];
}

/** Numbers from here on are milliseconds: as seconds, this is the year 5138; as milliseconds, 1973. */
const FIRST_AS_MILLISECONDS = 100_000_000_000;
/** The end of the year 9999. Larger numbers have some other unit. */
const MAX_MILLISECONDS = 253_402_300_799_999;

/**
 * A time as ISO 8601. The spec does not name the unit: the magnitude decides, and no decision depends on it (H25).
 * Absent if it cannot be parsed, because a bad time must never hide a result.
 */
export const timestamp: z.ZodType<string | undefined> = z.unknown().optional().transform(timestampToIso);

export function timestampToIso(value: unknown): string | undefined {
  const digits = numericText(value)?.trim();
  if (digits === undefined || !/^[1-9]\d{0,15}$/.test(digits)) return undefined;
  const number = Number(digits);
  const milliseconds = number < FIRST_AS_MILLISECONDS ? number * 1000 : number;
  return milliseconds > MAX_MILLISECONDS ? undefined : new Date(milliseconds).toISOString();
}

/**
 * Spec: decimal(18,2), as a JSON number or text (H14). Zeros after the second decimal are dropped. A number with an
 * exponent was a double, which is exact up to 15 digits: with more, it may not be the amount that was meant.
 */
export const amount: z.ZodType<string> = parsedBy((value) => {
  const digits = numericText(value) ?? '';
  const written = /^(\d{1,16})(?:\.(\d{1,2})0{0,16})?$/.exec(digits);
  if (!written || (digits !== writtenText(value) && significantDigits(digits) > EXACT_DIGITS))
    return undefined;
  return normalizeAmount([written[1], written[2]].filter(Boolean).join('.'));
}, 'an amount of at most 16 digits and 2 decimals');

const EXACT_DIGITS = 15;

function significantDigits(decimal: string): number {
  return decimal.replace('.', '').replace(/^0+/, '').replace(/0+$/, '').length;
}

/** A currency code: the spec lists none, so up to 8 letters or digits (the length of `pay_currency`) are accepted. */
export function currency(max = 8): z.ZodType<string> {
  return parsedBy(
    (value) => (typeof value === 'string' && isCurrency(value, max) ? value : undefined),
    `a currency code of at most ${max} characters`,
  );
}

export function isCurrency(code: string, max = 8): boolean {
  return code.length <= max && /^[A-Za-z0-9]+$/.test(code);
}

/** Spec: `{currency: string, amount: number}`. */
export const money: z.ZodType<Money> = z.object({ currency: currency(), amount });

/**
 * A balance of any sign and scale, with at least two decimals. It never makes the rest of a response unreadable: absent if
 * it cannot be read.
 */
export const balance: z.ZodType<string | undefined> = z.unknown().optional().transform(balanceText);

function balanceText(value: unknown): string | undefined {
  const written = /^(-?)(\d{1,24})(?:\.(\d{1,24}))?(?:[eE]([+-]?\d{1,2}))?$/.exec(numericText(value) ?? '');
  if (!written) return undefined;
  const [, sign = '', whole = '0', fraction = '', exponent = '0'] = written;
  const [before, after = ''] = movePoint(whole, fraction, Number(exponent))?.split('.') ?? [];
  return before && `${sign}${before}.${after.padEnd(2, '0')}`;
}

/** A balance with its currency. */
export const balanceMoney: z.ZodType<Money | undefined> = z
  .object({ currency: currency(), amount: balance })
  .transform((read) => inCurrency(read.currency, read.amount))
  .catch(undefined);

export function inCurrency(code: string, value: string | undefined): Money | undefined {
  return value === undefined ? undefined : { currency: code, amount: value };
}

/**
 * An exchange rate as decimal text, with all its digits. Zero is no rate: the provider names none, as for equal currencies
 * (H231).
 */
export const rate: z.ZodType<string> = parsedBy((value) => {
  const digits = numericText(value) ?? '';
  if (!/^\d{1,43}(?:\.\d{1,48})?$/.test(digits)) return undefined;
  return /[1-9]/.test(digits) ? digits : '0';
}, 'a rate');

function movePoint(whole: string, fraction: string, exponent: number): string | undefined {
  if (exponent === 0) return fraction === '' ? whole : `${whole}.${fraction}`;
  if (Math.abs(exponent) > 24) return undefined;
  const digits = '0'.repeat(25) + whole + fraction + '0'.repeat(25);
  const point = 25 + whole.length + exponent;
  const before = digits.slice(0, point).replace(/^0+(?=\d)/, '');
  const after = digits.slice(point).replace(/0+$/, '');
  return after === '' ? before : `${before}.${after}`;
}

type Shape = Readonly<Record<string, z.ZodType>>;
type Flat<T> = { [K in keyof T]: T[K] };

/** A record of ours: each schema of `fields` reads the provider's record. What is absent has no key. */
export function record<Fields extends Shape>(
  fields: Fields,
): z.ZodType<Flat<Compact<{ [K in keyof Fields]: z.output<Fields[K]> }>>>;
export function record(fields: Shape): z.ZodType {
  return z.unknown().transform((wire, context) => {
    const read = Object.entries(fields).map(([key, schema]) => [key, parsed(schema, wire, [], context)]);
    return compact(Object.fromEntries(read));
  });
}

/** Reads the value at `path` of the provider's record, such as `exchange.exchange_rate`. */
export function at<T>(path: string, schema: z.ZodType<T>): z.ZodType<T> {
  const keys = path.split('.');
  return z.unknown().transform((wire, context) => {
    let value = wire;
    for (const [depth, key] of keys.entries()) {
      const isAbsent = depth > 0 && (value === undefined || value === null || value === '');
      if (!isAbsent && !isJsonObject(value)) {
        context.addIssue({ code: 'custom', path: keys.slice(0, depth), message: 'expected an object' });
        return z.NEVER;
      }
      value = isJsonObject(value) ? value[key] : undefined;
    }
    return parsed(schema, value, keys, context);
  });
}

/** Reports the problems of the value at `path`. */
function parsed<T>(
  schema: z.ZodType<T>,
  value: unknown,
  path: readonly string[],
  context: z.RefinementCtx,
): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  for (const issue of result.error.issues)
    context.addIssue({ code: 'custom', path: [...path, ...issue.path], message: issue.message });
  return z.NEVER;
}
