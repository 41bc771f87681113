/** The texts of a request: they say what they show, and no spreadsheet, encoding or transfer has damaged them. */
import { z } from 'zod';

type Rule = readonly [broken: RegExp, message: string];

const MAX_TEXT_LENGTH = 256;
const ENTER_AGAIN = 'format the cells as text and enter the value again';

/**
 * But for joiners and variation selectors where scripts need them to write names. The marks of these scripts take joiners;
 * accents, which all scripts share, do not. Bengali and Kannada also put a joiner before a virama.
 */
const INVISIBLE =
  /(?!\u200c|\u200d|\p{Variation_Selector})[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]|(?<!\p{Script_Extensions=Arabic}|(?!\p{Script=Inherited})\p{M})(?:\u200c|\u200d)(?![\u09cd\u0ccd])|(?<![\p{Script=Han}\p{Extended_Pictographic}])\p{Variation_Selector}/u;
/** In English and in other languages: `#REF!`, `#N/A`, `#BEZUG!`, `#NV`, and a column that was too narrow. */
const ERROR_VALUE = /^(?:#(?:#+|¡?[\p{L}\d/_]+[!?]|N\/[AD]|NV|GETTING_DATA)|Err:\d{3})$/u;

/** As a spreadsheet writes a long number. */
export const SCIENTIFIC: Rule = [
  /^-?\d(?:[.,]\d+)?E[+-]\d{2,3}$/i,
  `is in scientific notation: ${ENTER_AGAIN}`,
];

const RULES: readonly Rule[] = [
  [/[\p{Cc}\p{Zl}\p{Zp}]/u, 'must not contain control characters, such as line breaks'],
  // JSON can express lone surrogates, but UTF-8 cannot.
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
