/** Money and rates on the wire: exact decimals as JSON numbers or text. Anything else is rejected (H14). */
import { z } from 'zod';
import { type Money, normalizeAmount } from '../../domain/money.ts';
import { numericText, parsedBy } from './scalars.ts';

/** Spec: decimal(18,2). Zeros after the second decimal are dropped. */
export const amount: z.ZodType<string> = parsedBy((value) => {
  const written = /^(\d{1,16})(?:\.(\d{1,2})0{0,16})?$/.exec(numericText(value) ?? '');
  return written ? normalizeAmount([written[1], written[2]].filter(Boolean).join('.')) : undefined;
}, 'an amount of at most 16 digits and 2 decimals');

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

/** An exchange rate above zero, as decimal text. Accepts exponents such as `2.8e-4`, and keeps all digits. */
export const rate: z.ZodType<string> = parsedBy((value) => {
  const written = /^(\d{1,18})(?:\.(\d{1,24}))?(?:[eE]([+-]?\d{1,2}))?$/.exec(numericText(value) ?? '');
  if (!written) return undefined;
  const [, whole = '0', fraction = '', exponent = '0'] = written;
  const text = movePoint(whole, fraction, Number(exponent));
  return text !== undefined && /[1-9]/.test(text) ? text : undefined;
}, 'a rate above zero');

function movePoint(whole: string, fraction: string, exponent: number): string | undefined {
  if (exponent === 0) return fraction === '' ? whole : `${whole}.${fraction}`;
  if (Math.abs(exponent) > 24) return undefined;
  const digits = '0'.repeat(25) + whole + fraction + '0'.repeat(25);
  const point = 25 + whole.length + exponent;
  const before = digits.slice(0, point).replace(/^0+(?=\d)/, '');
  const after = digits.slice(point).replace(/0+$/, '');
  return after === '' ? before : `${before}.${after}`;
}
