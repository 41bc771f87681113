/** Money as exact decimal text. Amounts never become JavaScript numbers: a double can't represent
 * `9999999999999999.99`. */

/** An amount of one currency. `amount` is decimal text in major units, e.g. `"10.50"`. */
export interface Money {
  currency: string;
  amount: string;
}

/** The amounts that callers may send: at most 16 digits and two decimals, without a sign or an exponent. */
export const AMOUNT_PATTERN = /^\d{1,16}(\.\d{1,2})?$/;

/** Normalizes to two decimals: `"10"` becomes `"10.00"`. Throws `RangeError` if the text isn't an `AMOUNT_PATTERN`. */
export function normalizeAmount(text: string): string {
  if (!AMOUNT_PATTERN.test(text)) throw new RangeError('not an amount of at most 16 digits and two decimals');
  return fromMinorUnits(toMinorUnits(text));
}

/**
 * The amount in hundredths. A sum may have more digits than an amount, so their number isn't limited here (H57). Throws
 * `RangeError` if the text isn't a decimal number with at most two decimals.
 */
export function toMinorUnits(amount: string): bigint {
  if (!/^\d+(\.\d{1,2})?$/.test(amount)) throw new RangeError('not an amount with at most two decimals');
  const [whole = '0', cents = ''] = amount.split('.');
  return BigInt(whole) * 100n + BigInt(cents.padEnd(2, '0'));
}

/** Hundredths as decimal text with exactly two decimals. Throws `RangeError` if negative. */
export function fromMinorUnits(hundredths: bigint): string {
  if (hundredths < 0n) throw new RangeError('an amount must not be negative');
  const digits = hundredths.toString().padStart(3, '0');
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

/** Negative, zero or positive if `left` is less than, equal to or greater than `right`. Throws for two currencies. */
export function compareMoney(left: Money, right: Money): number {
  assertSameCurrency(left, right);
  return compareBigints(toMinorUnits(left.amount), toMinorUnits(right.amount));
}

/** Whether currency and value are equal. Different currencies are unequal, not an error. */
export function sameMoney(left: Money, right: Money): boolean {
  return left.currency === right.currency && compareMoney(left, right) === 0;
}

export function addMoney(left: Money, right: Money): Money {
  assertSameCurrency(left, right);
  const amount = fromMinorUnits(toMinorUnits(left.amount) + toMinorUnits(right.amount));
  return { currency: left.currency, amount };
}

/** What is left of `all` without `part`; zero if that is more (H57). Takes nothing away in another currency. */
export function lessMoney(all: Money, part: Money): Money {
  if (all.currency !== part.currency) return all;
  const left = toMinorUnits(all.amount) - toMinorUnits(part.amount);
  return { ...all, amount: fromMinorUnits(left > 0n ? left : 0n) };
}

/** The sum of `amounts`; zero in `currency` if there are none. Throws for two currencies. */
export function sumMoney(currency: string, amounts: readonly Money[]): Money {
  return amounts.reduce(addMoney, { currency, amount: '0.00' });
}

/** One total per currency, sorted by currency. */
export function totalsByCurrency(amounts: readonly Money[]): Money[] {
  const totals = new Map<string, bigint>();
  for (const { currency, amount } of amounts)
    totals.set(currency, (totals.get(currency) ?? 0n) + toMinorUnits(amount));
  const currencies = [...totals.keys()].sort();
  return currencies.map((currency) => ({ currency, amount: fromMinorUnits(totals.get(currency) ?? 0n) }));
}

/** Whether `target` is at least `rate` times `pay`. Nothing is rounded. `rate`: decimal text of any precision. */
export function reachesRate(target: Money, rate: string, pay: Money): boolean {
  const scale = decimalsOf(rate);
  return toMinorUnits(target.amount) * 10n ** BigInt(scale) >= scaled(rate, scale) * toMinorUnits(pay.amount);
}

/** The amount with `percent` of it added, such as `"0.5"`, rounded down to two decimals. */
export function increasedBy({ currency, amount }: Money, percent: string): Money {
  const scale = decimalsOf(percent);
  const whole = 100n * 10n ** BigInt(scale);
  const increased = (toMinorUnits(amount) * (whole + scaled(percent, scale))) / whole;
  return { currency, amount: fromMinorUnits(increased) };
}

/** An amount in words: `"10.50 USD"`. */
export function formatMoney({ amount, currency }: Money): string {
  return `${amount} ${currency}`;
}

/** Compares decimal texts of any precision and sign (rates, balances), such as `"7.1"` and `"7.0999"`. */
export function compareDecimals(left: string, right: string): number {
  const scale = Math.max(decimalsOf(left), decimalsOf(right));
  return compareBigints(scaled(left, scale), scaled(right, scale));
}

function assertSameCurrency(left: Money, right: Money): void {
  if (left.currency !== right.currency)
    throw new RangeError(`cannot combine ${left.currency} with ${right.currency}`);
}

function compareBigints(left: bigint, right: bigint): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

function decimalsOf(text: string): number {
  return text.split('.')[1]?.length ?? 0;
}

function scaled(text: string, scale: number): bigint {
  if (!/^-?\d+(\.\d+)?$/.test(text)) throw new RangeError('not a decimal number');
  const [whole = '0', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(scale, '0'));
}

const WITHOUT_DECIMALS = /^(?:BIF|CLP|DJF|GNF|ISK|JPY|KMF|KRW|PYG|RWF|UGX|UYI|VND|VUV|XAF|XOF|XPF)$/;

/** Whether the amount, decimal text with at most two decimals, has a digit that its currency can't express. */
export function isTooFine({ currency, amount }: Money): boolean {
  return WITHOUT_DECIMALS.test(currency) && /\.\d*[1-9]/.test(amount);
}
