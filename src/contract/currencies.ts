/** The decimals of currencies, by ISO 4217. Unicode's data differs: it has none for HUF, IDR or PKR, in which banks count cents. */

const WITHOUT_DECIMALS: readonly string[] = [
  ...['BIF', 'CLP', 'DJF', 'GNF', 'ISK', 'JPY', 'KMF', 'KRW', 'PYG'],
  ...['RWF', 'UGX', 'UYI', 'VND', 'VUV', 'XAF', 'XOF', 'XPF'],
];

/** Whether the amount, decimal text with at most two decimals, has a digit that its currency cannot express. */
export function isTooFine({ currency, amount }: { currency: string; amount: string }): boolean {
  return WITHOUT_DECIMALS.includes(currency) && /\.\d*[1-9]/.test(amount);
}
