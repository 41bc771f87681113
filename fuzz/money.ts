/** A second parser of amounts, written independently of the product's. */

/** The amount with two decimals; undefined unless the text has at most 16 integer digits and two significant decimals. */
export function normalizedOrUndefined(text: string): string | undefined {
  const [whole = '', fraction = '', ...more] = text.split('.');
  const isDigits = (part: string) => [...part].every((digit) => digit >= '0' && digit <= '9');
  if (more.length > 0 || whole === '' || whole.length > 16 || !isDigits(whole) || !isDigits(fraction))
    return undefined;
  if ([...fraction.slice(2)].some((digit) => digit !== '0')) return undefined;
  let at = 0;
  while (at < whole.length - 1 && whole[at] === '0') at += 1;
  return `${whole.slice(at)}.${fraction.slice(0, 2).padEnd(2, '0')}`;
}
