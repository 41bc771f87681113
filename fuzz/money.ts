/** A second reader of amounts, written without the product's: what digits say is not a matter of opinion. */

/** With two decimals; undefined where the text is no amount of at most 16 digits and two decimals that say something. */
export function normalizedOrNothing(text: string): string | undefined {
  const [whole = '', fraction = '', ...more] = text.split('.');
  const isDigits = (part: string) => [...part].every((digit) => digit >= '0' && digit <= '9');
  if (more.length > 0 || whole === '' || whole.length > 16 || !isDigits(whole) || !isDigits(fraction))
    return undefined;
  if ([...fraction.slice(2)].some((digit) => digit !== '0')) return undefined;
  let at = 0;
  while (at < whole.length - 1 && whole[at] === '0') at += 1;
  return `${whole.slice(at)}.${fraction.slice(0, 2).padEnd(2, '0')}`;
}
