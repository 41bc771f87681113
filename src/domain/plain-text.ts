/**
 * The provider's text as terminals, logs and pages may show it: without control characters, which move the cursor or end a
 * line, and without bidirectional controls, which show text in another order (H200).
 */

/** Separate words, so a space takes their place. */
const BREAKS = /[\t\n\v\f\r\u0085\p{Zl}\p{Zp}]+/gu;
const CONTROLS = /[\p{Cc}\p{Bidi_Control}]/gu;
const LONE_SURROGATES = /\p{Cs}/gu;
/** Stands for what could not be read: a byte that is not UTF-8, or half of a surrogate pair. */
const UNREADABLE = '\ufffd';

const NOT_PLAIN = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}\ufffd]/u;

/** A copy without control characters. */
export function plainText(text: string): string {
  return text.replace(BREAKS, ' ').replace(CONTROLS, '').replace(LONE_SURROGATES, UNREADABLE);
}

/** Whether the text can be shown as it is, and every character of it could be read. */
export function isPlainText(text: string): boolean {
  return !NOT_PLAIN.test(text);
}

/** Whether a character could not be read. */
export function isDamaged(text: string): boolean {
  return text.includes(UNREADABLE);
}
