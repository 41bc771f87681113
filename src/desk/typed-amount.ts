/** Amounts as people type them. */
import { AMOUNT_PATTERN } from '../contract/money.ts';

/** The pattern takes quadratic time. */
const MAX_LENGTH = 64;

/** `12 480,50`, `12,480.50` and `CNY 12'480.5` are each `12480.50` or `12480.5`. Undefined if it's no amount. */
export function typedAmount(text: string): { amount: string; currency?: string } | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const [, before, digits = '', after] =
    /^([a-z]{3}(?![a-z]))?\s*(\d[\d\s.,'’]*?)\s*([a-z]{3})?$/i.exec(text.trim()) ?? [];
  // Three digits after the last separator are thousands: no amount has three decimals.
  const decimals = /[.,](\d{1,2})$/.exec(digits);
  const [first = '', ...thousands] = (decimals ? digits.slice(0, decimals.index) : digits).split(/(\D)/);
  const separators = thousands.filter((_, at) => at % 2 === 0);
  const groups = thousands.filter((_, at) => at % 2 === 1);
  const isGrouped = groups.every((group) => group.length === 3) && (groups.length === 0 || first.length <= 3);
  const isOneSign = new Set(separators).size <= 1 && !(decimals && separators[0] === decimals[0].charAt(0));
  const amount = [first, ...groups].join('') + (decimals ? `.${decimals[1]}` : '');
  if (!isGrouped || !isOneSign || !AMOUNT_PATTERN.test(amount)) return undefined;
  if (before !== undefined && after !== undefined) return undefined;
  const currency = (before ?? after)?.toUpperCase();
  return { amount, ...(currency !== undefined && { currency }) };
}
