/** Formats decimal text as it is, however long: it never becomes a number. */
const GROUPED = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 20 });
const isDecimal = (text: string): text is `${number}` => /^\d+(\.\d+)?$/.test(text);

export function groupedAmount(text: string): string {
  return isDecimal(text) ? GROUPED.format(text) : text;
}
