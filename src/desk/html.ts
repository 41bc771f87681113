/**
 * The building blocks of the desk's pages. `html` escapes every value, even inside attributes, which are always quoted, and
 * passes on only what another `html` made.
 */
import { html } from 'hono/html';
import { ATTENTION, type AttentionKind, type Explained } from '../contract/attention-codes.ts';
import type { ListedPayout, PayoutMemo } from '../contract/lists.ts';
import { type Money, toMinorUnits, totalsByCurrency } from '../contract/money.ts';
import type { CheckedPayoutRequest } from '../contract/payout-request.ts';
import { accountEnd } from '../domain/listed-payout.ts';
import type { PayoutId } from '../service/requests.ts';
import { groupedAmount } from './grouped-amount.ts';
import { actionOf, countryName, label, onTheDesk, sentence } from './words.ts';

export { groupedAmount, html, label, onTheDesk, sentence };
export type Html = ReturnType<typeof html>;

/** A code in words, with the code itself as a tooltip, for questions to support. */
export function coded(code: string): Html {
  return html`<span title="${code}">${label(code)}</span>`;
}

/** Text of our own tables, in which backticks mark code. */
export function prose(text: string): Html {
  return html`${text.split('`').map((part, at) => (at % 2 === 0 ? part : html`<code>${part}</code>`))}`;
}

type Tone = 'good' | 'warn' | 'bad' | 'busy' | 'calm';

/** Of phases, outcomes and statuses. All others are calm. */
const TONES: Readonly<Record<string, Tone>> = {
  ...{ SUCCESS: 'good', COMPLETED: 'good', APPROVED: 'good', OPENED: 'good', DELIVERING: 'good' },
  ...{
    PARTIAL_SUCCESS: 'warn',
    NEEDS_REVIEW: 'warn',
    AWAITING_APPROVAL: 'warn',
    PAUSED: 'warn',
    RETURNED: 'warn',
  },
  ...{ FAILED: 'bad', conflict: 'bad', invalid: 'bad', stopped: 'bad', REJECTED: 'bad', TERMINATED: 'bad' },
  ...{ CREATING: 'busy', RECONCILING: 'busy', PROCESSING: 'busy', FETCHING_DETAIL: 'busy', RUNNING: 'busy' },
};

/** A code as colored words. */
export function pill(code: string | undefined, tone = TONES[code ?? '']): Html | undefined {
  if (code === undefined || code === '') return undefined;
  return html`<span class="pill ${tone ?? 'calm'}" title="${code}">${label(code)}</span>`;
}

type Listed = { phase: string; outcome?: string | undefined } & Pick<ListedPayout, 'received' | 'returned'>;

/** The outcome of a payout that has finished, or that its money came back; else its phase. */
export function codeOf({ phase, outcome = '', received, returned }: Listed): string {
  if (!returned) return outcome === '' ? phase : outcome;
  return received && toMinorUnits(received.amount) > 0n ? 'PARTLY_RETURNED' : 'RETURNED';
}

export function status(one: Listed): Html | undefined {
  return one.returned ? pill(codeOf(one), 'bad') : pill(codeOf(one));
}

const BRIEF = new Intl.DateTimeFormat('en-GB', {
  ...{ day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', timeZone: 'UTC' },
});

/**
 * `iso` is ISO 8601. Shown in UTC, to the second. The script makes it local, without the seconds unless `exact`. `brief`:
 * without the year either.
 */
export function time(iso: string | undefined, length?: 'brief' | 'exact'): Html | undefined {
  if (iso === undefined) return undefined;
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return html`${iso}`;
  const utc = at.toISOString();
  const whole = `${utc.slice(0, 19).replace('T', ' ')} UTC`;
  return length === 'brief'
    ? html`<time datetime="${utc}" title="${whole}" data-brief>${BRIEF.format(at)} UTC</time>`
    : html`<time datetime="${utc}"${length && html` data-exact`}>${whole}</time>`;
}

/** Longer numbers are smaller where amounts stand out. */
const LONG = 13;

export function money(amount: Money | undefined): Html | undefined {
  if (!amount) return undefined;
  const number = groupedAmount(amount.amount);
  return html`<span class="amount ${number.length > LONG && 'long'}">${number} <small>${amount.currency}</small></span>`;
}

/** Values beside each other, of `max`. `about`: what the bar shows, for who cannot see it; absent: the text beside it tells. */
export function bar(
  values: readonly (readonly [value: number, tone?: Tone])[],
  max: number,
  about?: string,
): Html {
  const width = (value: number) => (100 * value) / Math.max(1, max);
  const from = (at: number) => values.slice(0, at).reduce((sum, [value]) => sum + width(value), 0);
  return html`<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none"${about === undefined ? html` aria-hidden="true"` : html` role="img" aria-label="${about}"`}>${values.map(
    ([value, tone], at) =>
      html`<rect class="${tone}" x="${from(at).toFixed(1)}" width="${width(value).toFixed(1)}" height="8"/>`,
  )}</svg>`;
}

/** One total per currency. */
export function totals(amounts: readonly Money[]): Html {
  return html`${totalsByCurrency(amounts).map((total, at) => html`${at > 0 && html`<span class="comma">, </span>`}${money(total)}`)}`;
}

/** An id that the script makes copyable. */
export function copyable(id: string | undefined): Html | undefined {
  return id === undefined || id === '' ? undefined : html`<code data-copy>${id}</code>`;
}

/** Instead of a list without entries: what is not there, and what to do. */
export function empty(what: unknown, todo: unknown = ''): Html {
  return html`<div class="empty"><strong>${what}</strong>${todo}</div>`;
}

/** `4 min 10 s`. Not negative. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3_600)];
  if (minutes === 0) return `${seconds} s`;
  if (hours === 0) return `${minutes} min ${seconds % 60} s`;
  return hours < 24 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** Tells how long the quote that awaits approval is locked: after that, an approval asks for a new quote. */
export function lockLeft(until: string | undefined, nowMs: number): Html | undefined {
  if (until === undefined) return undefined;
  const leftMs = Date.parse(until) - nowMs;
  return leftMs > 0
    ? html`<span title="until ${until}" data-sort="${leftMs}">${duration(leftMs)}</span>`
    : html`<span class="faint" data-sort="0">Requoted on approval</span>`;
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
  const known = pairs.filter(([, value]) => value !== undefined && value !== false && value !== '');
  return html`<dl class="facts">
${known.map(
  ([name, value]) => html`<div><dt>${name}</dt><dd>${isolated(value)}</dd></div>
`,
)}</dl>`;
}

interface Table {
  caption: unknown;
  /** The name of a column of amounts or counts ends with `#`. */
  head: readonly string[];
  /** The first cell of a row is its header. */
  rows: readonly (readonly unknown[])[];
  /** Whether the script lets people sort the rows. `part`: there are more on other pages, which Temporal orders. */
  sorts?: boolean | 'part';
  /** A class for its columns. */
  kind?: string;
}

/** A table that scrolls inside its frame, by keyboard too. On a phone, each row is a card. */
export function table({ caption, head, rows, sorts, kind = '' }: Table): Html {
  const columns = head.map((name) => ({
    name: name.replace(/#$/, ''),
    side: name.endsWith('#') && 'number',
  }));
  return html`<div class="scrolls" role="group" aria-label="${columns[0]?.name}" tabindex="0"><table class="${sorts && 'sorts'} ${kind}">
<caption>${caption}${sorts === 'part' && html`<span class="scripted">. The column names sort this page only</span>`}</caption>
<thead><tr>${columns.map(({ name, side }) => html`<th scope="col" class="${side}" data-label="${name}">${name}</th>`)}</tr></thead>
<tbody>${rows.map(
    ([first, ...rest]) => html`
<tr><th scope="row">${isolated(first)}</th>${rest.map(
      (cell, at) =>
        html`<td class="${columns[at + 1]?.side}" data-label="${columns[at + 1]?.name}">${isolated(cell)}</td>`,
    )}</tr>`,
  )}
</tbody></table></div>`;
}

export function hidden(fields: Readonly<Record<string, string | undefined>>): Html {
  return html`${Object.entries(fields).map(
    ([name, value]) => value !== undefined && html`<input type="hidden" name="${name}" value="${value}">`,
  )}`;
}

/** The optional reason for a decision. */
export function noteField(
  id: string,
  name: 'note' | 'reason',
  text: string,
  { maxLength = 256, value }: { maxLength?: number; value?: string | undefined } = {},
): Html {
  return html`<label for="${id}">${text} <span class="faint">(optional)</span></label>
<input id="${id}" name="${name}" maxlength="${maxLength}" autocomplete="off"${value !== undefined && html` value="${value}"`}>`;
}

/** A path of the desk with a query, without empty parameters. */
export function link(path: string, query: Readonly<Record<string, string | undefined>> = {}): string {
  const known = Object.entries(query).flatMap(([name, value]): [string, string][] =>
    value === undefined || value === '' ? [] : [[name, value]],
  );
  const text = new URLSearchParams(known).toString();
  return text === '' ? path : `${path}?${text}`;
}

/** `from`: the list that the page leads back to, if it isn't that of all payouts. */
export function payoutLink({ app, partnerOrderId }: PayoutId, from?: 'inbox'): string {
  return link('/desk/payout', { app, partnerOrderId, from });
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

/** Says what to do when money came back. The texts for programs tell how to book it. */
export const RETURNED_HELP = 'The bank sent the money back. Check your balance, then start a new payout.';
export const isReturn = ({ code }: { code: string }) =>
  code === 'PAYMENT_RETURNED' || code === 'MONEY_RETURNED';

/** The code, the message, and the explanation of the code if it has one. */
export function explained(one: CodedMessage, explanations: Explanations): Html {
  return html`${said(one)}
${helpFor(one, explanations)}`;
}

/** One line for each reason, which opens to what it means and what to do. `about`: the state, in words. */
export function briefReasons(kind: AttentionKind, reasons: readonly CodedMessage[], about?: string): Html {
  return html`${reasons.map((one, at) => html`<details><summary>${said(one)}</summary>${at === 0 && about !== undefined && html`<p>${sentence(about)}</p>`}${helpFor(one, ATTENTION[kind])}</details>`)}`;
}

function said({ code, message }: CodedMessage): Html {
  return html`<strong title="${code}">${label(code)}.</strong> ${isolated(sentence(message).replace(/^[a-z]/, (first) => first.toUpperCase()))}`;
}

function helpFor(one: CodedMessage, explanations: Explanations): Html {
  const { code } = one;
  const known = !isReturn(one) && Object.hasOwn(explanations, code) ? explanations[code] : undefined;
  const action = known ? actionOf(code, known.action) : '';
  return html`${isReturn(one) && html`<p class="faint">${RETURNED_HELP}</p>`}${known && html`<p class="faint">${prose(onTheDesk(known.meaning))}${action !== '' && html` <em>What to do:</em> ${prose(action)}`}</p>`}`;
}

type Receiver = CheckedPayoutRequest['receiver'];

/** Who gets the money, as an approver sees it: each value stands alone, so that none can change how another one looks. */
export function beneficiaryFacts(receiver: Receiver): (readonly [string, string])[] {
  return [
    ['Beneficiary', receiver.bankAccountName],
    ['Account number', maskedAccount(receiver)],
    ['Bank', receiver.bankName],
    ['Country of the bank', countryName(receiver.bankCountry)],
  ];
}

/** The name and the end of the account. Undefined if a list does not know them. */
export function beneficiary({ beneficiary: name, accountEnd: end }: PayoutMemo): Html | undefined {
  if (name === undefined) return undefined;
  return html`<bdi>${name}</bdi>${end !== undefined && html` <span class="faint">··<bdi>${end}</bdi></span>`}`;
}

export function beneficiaryOf(receiver: Receiver): Html | undefined {
  return beneficiary({ beneficiary: receiver.bankAccountName, accountEnd: accountEnd(receiver) });
}

export function maskedAccount(receiver: Receiver): string {
  return `ending in ${accountEnd(receiver)}`;
}
