/** The fields of requests and responses, and what a caller reads about a bad one. */
import { z } from 'zod';
import { codesOf } from './attention-codes.ts';
import type { FieldError } from './failures.ts';
import { APP_NAME, OWN_ID, OWN_ID_RULE } from './ids.ts';
import { AMOUNT_PATTERN, isTooFine, normalizeAmount, toMinorUnits } from './money.ts';

type Rule = readonly [broken: RegExp, message: string];

const MAX_TEXT_LENGTH = 256;
const ENTER_AGAIN = 'format the cells as text and enter the value again';

/**
 * But for joiners and variation selectors where scripts need them to write names. The marks of these scripts take joiners;
 * accents, which all scripts share, don't. Bengali and Kannada also put a joiner before a virama.
 */
const INVISIBLE =
  /(?!\u200c|\u200d|\p{Variation_Selector})[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]|(?<!\p{Script_Extensions=Arabic}|(?!\p{Script=Inherited})\p{M})(?:\u200c|\u200d)(?![\u09cd\u0ccd])|(?<![\p{Script=Han}\p{Extended_Pictographic}])\p{Variation_Selector}/u;

/** In English and in other languages: `#REF!`, `#N/A`, `#BEZUG!`, `#NV`, and a column that was too narrow. */
const ERROR_VALUE = /^(?:#(?:#+|¡?[\p{L}\d/_]+[!?]|N\/[AD]|NV|GETTING_DATA)|Err:\d{3})$/u;

/** The form in which a spreadsheet writes a long number. */
export const SCIENTIFIC: Rule = [
  /^-?\d(?:[.,]\d+)?E[+-]\d{2,3}$/i,
  `is in scientific notation: ${ENTER_AGAIN}`,
];

const RULES: readonly Rule[] = [
  [/[\p{Cc}\p{Zl}\p{Zp}]/u, 'must not contain control characters, such as line breaks'],
  // JSON can express lone surrogates, but UTF-8 can't.
  [/\p{Cs}/u, 'must not contain a lone surrogate'],
  [/\p{Bidi_Control}/u, 'must not contain characters that change the direction of text'],
  [INVISIBLE, 'must not contain invisible characters'],
  [/[\ufffd\p{Co}]/u, 'contains characters that a wrong encoding has replaced: enter it again'],
  [ERROR_VALUE, `is an error of a spreadsheet: ${ENTER_AGAIN}`],
  SCIENTIFIC,
  [/^=/, `must not be a formula: ${ENTER_AGAIN}`],
];

const PADDED: Rule = [/^\s|\s$/, 'must not start or end with whitespace'];

/** Programs write question marks in place of characters that their encoding lacks. */
const REPLACED: Rule = [
  /\?/,
  'must not contain question marks, which replace characters in a wrong encoding',
];

const CODE_RULES: readonly Rule[] = [
  [/^\d+(?:[.,]\d*)?E[+-]?\d{1,3}$/i, SCIENTIFIC[1]],
  [/^['’`]/, 'must not start with an apostrophe'],
  [/\s/, 'must not contain spaces'],
  [
    /^\d{1,2}-[a-z]{3}(?:-(?:\d{2}){1,2})?$|^[a-z]{3}-(?:\d{2}){1,2}$/i,
    `is a date, into which a spreadsheet has changed it: ${ENTER_AGAIN}`,
  ],
  [/^(?:true|false|null|none|nan|undefined)$/i, `is a word of a program: ${ENTER_AGAIN}`],
];

/** Reports the first broken rule only: the others are about the same characters. */
export function keeps(rules: readonly Rule[]) {
  return (value: string, context: z.RefinementCtx<string>) => {
    const broken = rules.find(([pattern]) => pattern.test(value));
    if (broken) context.addIssue({ code: 'custom', message: broken[1], continue: false });
  };
}

const atMost = (max: number) => z.string().max(max, `must be at most ${max} characters`);

const filled = (max: number, ...rules: readonly Rule[]) =>
  atMost(max)
    .min(1, { error: 'must not be empty', abort: true })
    .superRefine(keeps([...RULES, PADDED, ...rules]));

/** May be empty, or have spaces at its ends. */
export const looseText = (max: number) => atMost(max).superRefine(keeps(RULES));
export const text = (max = MAX_TEXT_LENGTH) => filled(max);

/** A name or an address of the beneficiary. */
export const nameText = (max = MAX_TEXT_LENGTH) => filled(max, REPLACED);

// The provider's identifiers are part of visibility queries, in which quotes and backslashes have a meaning.
export const identifier = () => text(64).regex(/^[^'"`\\]*$/, 'must not contain quotes or backslashes');

/** A number or code of the bank account. People write some with separators; no digit is folded or left out. */
const code = (pattern: RegExp, rule: string) => filled(64, ...CODE_RULES).regex(pattern, rule);

export const accountNumber = () =>
  code(
    /^(?=.*\d)[A-Za-z0-9-]*$/,
    'must have digits from 0 to 9, and otherwise only letters from A to Z and hyphens',
  );

export const idCardNumber = () =>
  code(
    /^(?=.*\d)[A-Za-z0-9()/-]*$/,
    'must have digits from 0 to 9, and otherwise only letters from A to Z, hyphens, slashes and parentheses',
  );

export const bankCode = () =>
  code(/^[A-Za-z0-9-]*$/, 'must have only letters from A to Z, digits from 0 to 9 and hyphens');

type Issue = z.core.$ZodRawIssue;

/** For the schema's own `error`: an absent field is reported as required. */
export const unlessAbsent =
  (message: string) =>
  ({ input }: { input?: unknown }): string | undefined =>
    input === undefined ? undefined : message;

const TYPES: Readonly<Record<string, string>> = {
  string: 'text in quotes',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
};

const UNITS: Readonly<Record<string, string>> = {
  string: ' characters long',
  array: ' elements long',
};

/** The error map of every check of a request. The messages of a schema take precedence. */
export function plainMessage(issue: Issue): string {
  if (issue.input === undefined) return 'is required';
  switch (issue.code) {
    case 'invalid_type':
      return typeMessage(issue.expected, issue.input);
    case 'invalid_value':
      return `must be ${listed(issue.values.map(String))}`;
    case 'too_small':
      return `must be ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}${UNITS[issue.origin] ?? ''}`;
    case 'too_big':
      return `must be ${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}${UNITS[issue.origin] ?? ''}`;
    case 'invalid_format':
      return 'has the wrong format';
    default:
      return 'is not one of the documented forms';
  }
}

function typeMessage(expected: string, input: unknown): string {
  if (expected === 'undefined') return 'the body must be absent';
  if (expected === 'string' && Array.isArray(input)) return 'must be one text, not several';
  return `must be ${TYPES[expected] ?? expected}`;
}

/** `A, B or C`. */
function listed(words: readonly string[]): string {
  const last = words.at(-1) ?? '';
  return words.length > 1 ? `${words.slice(0, -1).join(', ')} or ${last}` : last;
}

/** An id that the caller chooses, such as `partnerOrderId`. */
export const ownId = () =>
  z
    .string()
    .regex(OWN_ID, OWN_ID_RULE)
    .superRefine(keeps([SCIENTIFIC]));

export const timeWithOffset = () =>
  z.iso.datetime({ offset: true, error: 'must be an ISO 8601 time with an offset' });

export const currency = () =>
  z.string().regex(/^[A-Z]{3}$/, { error: 'must be three uppercase letters, such as USD', abort: true });

/** Forms in which spreadsheets write amounts. */
const AMOUNTS: readonly Rule[] = [
  [/^\d+\.\d{3,}$/, 'must have at most two decimals'],
  [/^\d{1,3}(?:[,'’\s]\d{3})+(?:\.\d*)?$/, 'has a thousands separator: remove it'],
  [/^[\d.]+,\d{1,2}$/, 'must have a point before its decimals, and no other separator, such as "1250.00"'],
];

export const amount = z
  .string({ error: unlessAbsent('must be decimal text such as "10.50", not a number') })
  .regex(AMOUNT_PATTERN, {
    error: ({ input }) =>
      AMOUNTS.find(([form]) => form.test(String(input)))?.[1] ??
      'must be digits with at most two decimals, such as "10.50"',
    // The transformation below requires a valid amount.
    abort: true,
  })
  .transform(normalizeAmount);

export const money = z.strictObject({ currency: currency(), amount }).refine((value) => !isTooFine(value), {
  path: ['amount'],
  message: 'must not have more decimals than its currency has',
});

export const positiveMoney = money.refine((value) => toMinorUnits(value.amount) > 0n, {
  path: ['amount'],
  message: 'must be more than zero',
});

export const appName = z.string().regex(APP_NAME, 'must be 1 to 32 lowercase letters, digits and hyphens');

/** An amount as state and result have it. */
export const moneySchema = z.strictObject({
  currency: z.string(),
  amount: z
    .string()
    .regex(/^\d+\.\d{2}$/)
    .describe('decimal text with exactly two decimals'),
});

/** A balance as the provider states it. */
export const balanceSchema = z.strictObject({
  currency: z.string(),
  amount: z
    .string()
    .regex(/^-?\d+\.\d{2,}$/)
    .describe('decimal text of any sign, with at least two decimals'),
});

export const time = z.string().describe('ISO 8601');
export const count = z.int().min(0);
export const metadataSchema = z.record(z.string(), z.string());

export function reasonOf<const Codes extends readonly string[]>(codes: Codes) {
  return z.strictObject({ code: z.enum(codes), message: z.string() });
}

/** A reason or an attention flag, whatever its code. */
export const storedReason = z.object({ code: z.string(), message: z.string() });

/** An attention flag with a code of `table`. */
export function attention<Code extends string>(table: Readonly<Record<Code, unknown>>) {
  return reasonOf(codesOf(table));
}

export const stateText = z.strictObject({
  sentence: z.string().describe('The state in words'),
  nextStep: z.string().describe('The next step, in words'),
});
/** The state in words. */
export type StateText = z.output<typeof stateText>;

/** Fields of every state: its words and its attention flags. */
export function flagged<Flag extends z.ZodType>(flag: Flag) {
  return stateText.extend({
    needsAttention: z.boolean(),
    reasons: z.array(flag),
  });
}

/** Fields whose values never grow in 1.x. */
type Closed = 'outcome' | 'status' | 'type' | 'approval' | 'bankLocation';
const CLOSED: readonly string[] = ['outcome', 'status', 'type', 'approval'] satisfies Closed[];

/** A code is any text, because a newer version may have written it. */
type Stored<T, Field = ''> = T extends readonly (infer Element)[]
  ? Stored<Element, Field>[]
  : T extends object
    ? { [Name in keyof T]: Stored<T[Name], Name> }
    : T extends string
      ? Field extends Closed
        ? T
        : string
      : T;

/**
 * The schema of a record that a workflow of any 1.x version has stored. Newer versions add fields and codes, which a reader of
 * this one ignores or shows as they are.
 */
export function stored<Schema extends z.ZodType>(schema: Schema): z.ZodType<Stored<z.output<Schema>>> {
  // zod has no type for a schema that was made from another one.
  return tolerant(schema, '') as z.ZodType<Stored<z.output<Schema>>>;
}

function tolerant(schema: z.core.$ZodType, field: string): z.core.$ZodType {
  if (schema instanceof z.ZodObject) {
    const fields = Object.entries<z.core.$ZodType>(schema.shape);
    const shape = Object.fromEntries(fields.map(([name, inner]) => [name, tolerant(inner, name)]));
    // Keeps the checks of the object.
    return schema.clone({ ...schema.def, shape, catchall: undefined });
  }
  if (schema instanceof z.ZodArray) return z.array(tolerant(schema.element, field));
  if (schema instanceof z.ZodExactOptional) return z.exactOptional(tolerant(schema.unwrap(), field));
  if (schema instanceof z.ZodOptional) return z.optional(tolerant(schema.unwrap(), field));
  return schema instanceof z.ZodEnum && !CLOSED.includes(field) ? z.string() : schema;
}

/** The message about a name that no field has. */
export const NOT_A_FIELD = 'is not a field';

export type CheckResult<T> = { ok: true; value: T } | { ok: false; errors: FieldError[] };

export function checkBody<S extends z.ZodType>(schema: S, body: unknown): CheckResult<z.output<S>> {
  const parsed = schema.safeParse(body, { error: plainMessage });
  if (parsed.success) return { ok: true, value: parsed.data };
  return { ok: false, errors: fieldErrors(parsed.error) };
}

/** zod's issues as field errors. An unknown or invalid key is reported under its own name. */
function fieldErrors(error: z.ZodError): FieldError[] {
  return error.issues.flatMap((issue) => {
    const path = issue.path.join('.');
    if (issue.code === 'invalid_key') return issue.issues.map(({ message }) => ({ path, message }));
    if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }];
    return issue.keys.map((key) => ({
      path: path === '' ? key : `${path}.${key}`,
      message: NOT_A_FIELD,
    }));
  });
}
