/** The scalars of the provider's answers, in every spelling that the spec uses. */
import { z } from 'zod';
import { exactNumberText } from '../exact-json.ts';

/**
 * A schema from a function that returns undefined for values that it cannot parse. Messages never contain the value.
 */
export function parsedBy<T>(read: (value: unknown) => T | undefined, expected: string): z.ZodType<T> {
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
    .transform((value, context) => {
      if (value === undefined || value === null || value === '') return undefined;
      const result = schema.safeParse(value);
      if (result.success) return result.data;
      for (const { path, message } of result.error.issues)
        context.addIssue({ code: 'custom', path, message });
      return z.NEVER;
    });
}

/** Text of 1 to `max` characters. */
export function text(max: number): z.ZodType<string> {
  return parsedBy(
    (value) => (typeof value === 'string' && value !== '' && value.length <= max ? value : undefined),
    `text of 1 to ${max} characters`,
  );
}

/** A description for people. It is truncated to `max` characters, because its length must never hide a result. */
export function description(max: number): z.ZodType<string | undefined> {
  return orAbsent(parsedBy((value) => (typeof value === 'string' ? value.slice(0, max) : undefined), 'text'));
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

/** The digits of a JSON number, or the text itself. */
export function numericText(value: unknown): string | undefined {
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
