/** The small things the service's answers are made of, in every spelling the spec shows. */
import { z } from 'zod';
import { exactNumberText } from '../exact-json.ts';

/** A schema from a function that gives undefined for what it cannot read. Messages never quote the value. */
export function reads<T>(read: (value: unknown) => T | undefined, expected: string): z.ZodType<T> {
  return z.unknown().transform((value, context) => {
    const result = read(value);
    if (result !== undefined) return result;
    context.addIssue({ code: 'custom', message: `expected ${expected}` });
    return z.NEVER;
  });
}

/** Optional in the spec's sense: absent, null and `""` are the same. */
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
  return reads(
    (value) => (typeof value === 'string' && value !== '' && value.length <= max ? value : undefined),
    `text of 1 to ${max} characters`,
  );
}

/** A description for people: one that is over its length is cut, for it must never hide a result. */
export function description(max: number): z.ZodType<string | undefined> {
  return orAbsent(reads((value) => (typeof value === 'string' ? value.slice(0, max) : undefined), 'text'));
}

/** `true`, `false`, or either as text. */
export const flag: z.ZodType<boolean> = reads((value) => {
  if (value === true || value === 'true') return true;
  return value === false || value === 'false' ? false : undefined;
}, 'true or false');

/** A whole number of seconds above zero, as number or text. */
export const seconds: z.ZodType<number> = reads((value) => {
  const digits = numericText(value);
  return digits !== undefined && /^[1-9]\d{0,9}$/.test(digits) ? Number(digits) : undefined;
}, 'a whole number of seconds');

/** An entry, several, or none: object, array, null, absent and `{}` all become an array. */
export function entries<T>(schema: z.ZodType<T>): z.ZodType<T[]> {
  return z.unknown().optional().transform(asList).pipe(z.array(schema));
}

/** The digits of a JSON number, or a text as it stands. */
export function numericText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : exactNumberText(value);
}

function asList(value: unknown): unknown {
  if (value === undefined || value === null || value === '' || Array.isArray(value)) return value || [];
  return typeof value === 'object' && Object.keys(value).length === 0 ? [] : [value];
}
