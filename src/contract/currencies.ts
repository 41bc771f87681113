/** The decimals of currencies, as Unicode's data that Node.js contains has them. */

/** The most that an amount may have. */
const MAX_DECIMALS = 2;

/** How many decimals an amount of this currency may have. A code that Unicode does not know may have two. */
export function decimalsOf(currency: string): number {
  if (!/^[A-Z]{3}$/.test(currency)) return MAX_DECIMALS;
  const { maximumFractionDigits = MAX_DECIMALS } = new Intl.NumberFormat('en', {
    style: 'currency',
    currency,
  }).resolvedOptions();
  return Math.min(maximumFractionDigits, MAX_DECIMALS);
}

/** Whether the amount, decimal text, has a digit that its currency cannot express. */
export function isTooFine({ currency, amount }: { currency: string; amount: string }): boolean {
  const [, cents = ''] = amount.split('.');
  // Most amounts are whole: they need no look at the currency.
  return /[1-9]/.test(cents) && /[1-9]/.test(cents.slice(decimalsOf(currency)));
}
