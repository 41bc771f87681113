/**
 * The provider's text as terminals, logs and pages may show it: without control characters, which move the cursor or end a
 * line, and without bidirectional controls, which show text in another order (H200).
 */

/** Stands for what could not be read: a byte that is not UTF-8, or half of a surrogate pair. */
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

/** Whether a character could not be read. */
export function isDamaged(text: string): boolean {
  return text.includes(UNREADABLE);
}
