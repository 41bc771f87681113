/** The provider's text: how it compares with what was sent, and how terminals, logs and pages may show it. */

/** `PAYMENTS_ECHO` */
export const ECHOES = ['visible', 'exact', 'normalized'] as const;
export type Echo = (typeof ECHOES)[number];

/** Whether an id names another payout or client. */
export function idDiffers(echo: Echo, found: string, sent: string): boolean {
  return found !== sent && (echo !== 'normalized' || lettersAndDigits(found) !== lettersAndDigits(sent));
}

/** Whether a text about the beneficiary is visibly different, without regard to spaces, letter case and punctuation. */
export function textDiffers(echo: Echo, found: string, sent: string): boolean {
  if (withoutSpaces(found) === withoutSpaces(sent)) return false;
  return (
    echo === 'exact' || !shows(lettersAndDigits(found.replace(/[*•●#]+/gu, '*')), lettersAndDigits(sent))
  );
}

export function isMasked(text: string): boolean {
  return /[*•●#]/u.test(text);
}

function withoutSpaces(text: string): string {
  return text.normalize('NFKC').replace(/\s+/g, '').toLowerCase();
}

function lettersAndDigits(text: string): string {
  return text
    .normalize('NFKC')
    .replace(/[^\p{L}\p{N}\p{M}*]/gu, '')
    .toLowerCase();
}

/** Each `*` in `masked` stands for at least one character of `whole`. In linear time: the provider may send any text. */
function shows(masked: string, whole: string): boolean {
  const parts = masked.split('*');
  const [first = '', last = ''] = [parts[0], parts.at(-1)];
  if (parts.length === 1) return masked === whole;
  if (!whole.startsWith(first)) return false;
  let at = first.length + 1;
  for (const part of parts.slice(1, -1)) {
    const found = whole.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length + 1;
  }
  return whole.endsWith(last) && whole.length - last.length >= at;
}

/** Stands for what couldn't be read: a byte that isn't UTF-8, or half of a surrogate pair. */
const UNREADABLE = '\ufffd';
const NOT_PLAIN = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}\ufffd]/u;

/** A copy without control characters. A space takes the place of those that separate words. */
export function plainText(text: string): string {
  return text
    .replace(/[\t\n\v\f\r\u0085\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/[\p{Cc}\p{Bidi_Control}]/gu, '')
    .replace(/\p{Cs}/gu, UNREADABLE);
}

/** Whether the text can be shown as it is, and every character of it could be read. */
export function isPlainText(text: string): boolean {
  return !NOT_PLAIN.test(text);
}

/** Whether a character couldn't be read. */
export function isDamaged(text: string): boolean {
  return text.includes(UNREADABLE);
}
