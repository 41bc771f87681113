/**
 * The building blocks of the desk's pages. `html` escapes every value, even inside attributes, which are always quoted, and
 * passes on only what another `html` made.
 */
import { html } from 'hono/html';
import { ATTENTION, type AttentionKind, type Explained } from '../contract/attention-codes.ts';
import { formatMoney, type Money } from '../contract/money.ts';
import type { CheckedPayoutRequest } from '../contract/payout-request.ts';
import { accountEnd } from '../domain/listed-payout.ts';
import type { PayoutId } from '../service/requests.ts';

export { html };
export type Html = ReturnType<typeof html>;

/** `NEEDS_REVIEW` as `Needs review`. */
export function label(code: string): string {
  const words = code.toLowerCase().replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Text of our own tables, in which backticks mark code. */
export function prose(text: string): Html {
  return html`${text.split('`').map((part, at) => (at % 2 === 0 ? part : html`<code>${part}</code>`))}`;
}

/** `iso` is ISO 8601. Shown in UTC, to the second. */
export function time(iso: string | undefined): Html | undefined {
  if (iso === undefined) return undefined;
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return html`${iso}`;
  const utc = at.toISOString();
  return html`<time datetime="${utc}">${utc.slice(0, 19).replace('T', ' ')} UTC</time>`;
}

export function money(amount: Money | undefined): string | undefined {
  return amount && formatMoney(amount);
}

/** `4 min 10 s`. Not negative. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3_600)];
  if (minutes === 0) return `${seconds} s`;
  if (hours === 0) return `${minutes} min ${seconds % 60} s`;
  return hours < 24 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/**
 * Text of a request, of a file or of the provider, whose script may run from right to left: it cannot change the order of
 * the text around it.
 */
export function isolated(value: unknown): unknown {
  return typeof value === 'string' && value !== '' ? html`<bdi>${value}</bdi>` : value;
}

/** Omits facts without a value. */
export function facts(pairs: readonly (readonly [name: string, value: unknown])[]): Html {
  const known = pairs.filter(([, value]) => value !== undefined && value !== '');
  return html`<dl class="facts">
${known.map(
  ([name, value]) => html`<div><dt>${name}</dt><dd>${isolated(value)}</dd></div>
`,
)}</dl>`;
}

interface Table {
  caption: string;
  head: readonly string[];
  /** The first cell of a row is its header. */
  rows: readonly (readonly unknown[])[];
}

/** A table that scrolls inside its frame, by keyboard too. */
export function table({ caption, head, rows }: Table): Html {
  return html`<div class="scrolls" role="region" aria-label="${caption}" tabindex="0"><table>
<caption>${caption}</caption>
<thead><tr>${head.map((cell) => html`<th scope="col">${cell}</th>`)}</tr></thead>
<tbody>${rows.map(
    ([first, ...rest]) => html`
<tr><th scope="row">${isolated(first)}</th>${rest.map((cell) => html`<td>${isolated(cell)}</td>`)}</tr>`,
  )}
</tbody></table></div>`;
}

export function hidden(fields: Readonly<Record<string, string | undefined>>): Html {
  return html`${Object.entries(fields).map(
    ([name, value]) => value !== undefined && html`<input type="hidden" name="${name}" value="${value}">`,
  )}`;
}

/** The optional reason for a decision. */
export function noteField(id: string, name: 'note' | 'reason', text: string, maxLength = 256): Html {
  return html`<label for="${id}">${text} <span class="faint">(optional)</span></label>
<input id="${id}" name="${name}" maxlength="${maxLength}" autocomplete="off">`;
}

/** A path of the desk with a query, without empty parameters. */
export function link(path: string, query: Readonly<Record<string, string | undefined>> = {}): string {
  const known = Object.entries(query).flatMap(([name, value]): [string, string][] =>
    value === undefined || value === '' ? [] : [[name, value]],
  );
  const text = new URLSearchParams(known).toString();
  return text === '' ? path : `${path}?${text}`;
}

export function payoutLink({ app, partnerOrderId }: PayoutId): string {
  return link('/desk/payout', { app, partnerOrderId });
}

export interface CodedMessage {
  code: string;
  message: string;
}

type Explanations = Readonly<Record<string, Explained>>;

/** Each reason: its message, what it means and what to do. */
export function attentionReasons(kind: AttentionKind, reasons: readonly CodedMessage[]): Html {
  const explanations: Explanations = ATTENTION[kind];
  return html`<ul class="reasons">${reasons.map((one) => html`<li>${explained(one, explanations)}</li>`)}</ul>`;
}

/** The code, the message, and the explanation of the code if it has one. */
export function explained({ code, message }: CodedMessage, explanations: Explanations): Html {
  const known = Object.hasOwn(explanations, code) ? explanations[code] : undefined;
  return html`<strong title="${code}">${label(code)}.</strong> ${isolated(message)}
${known && html`<p>${prose(known.meaning)} <em>What to do:</em> ${prose(known.action)}</p>`}`;
}

type Receiver = CheckedPayoutRequest['receiver'];

/** Who gets the money, as an approver sees it: each value stands alone, so that none can change how another one looks. */
export function beneficiaryFacts(receiver: Receiver): (readonly [string, string])[] {
  return [
    ['Beneficiary', receiver.bankAccountName],
    ['Account number', maskedAccount(receiver)],
    ['Bank', receiver.bankName],
    ['Country of the bank', receiver.bankCountry],
  ];
}

export function maskedAccount(receiver: Receiver): string {
  return `ending in ${accountEnd(receiver)}`;
}
