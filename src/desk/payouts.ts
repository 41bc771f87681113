/** `/desk/payouts`: the list with its filters. */
import type { FastifyInstance } from 'fastify';
import { OUTCOMES, PHASES } from '../contract/codes.ts';
import type { FieldError } from '../contract/failures.ts';
import { checkBody } from '../contract/fields.ts';
import type { ListedPayout, PayoutPage } from '../contract/lists.ts';
import { mayList } from '../domain/permissions.ts';
import { payoutQuery } from '../service/requests.ts';
import { type Desk, filledIn, getPage } from './context.ts';
import { mayDecide } from './decisions.ts';
import {
  beneficiary,
  empty,
  type Html,
  html,
  label,
  link,
  money,
  payoutLink,
  pill,
  status,
  table,
  time,
  totals,
} from './html.ts';
import { sendPage } from './layout.ts';
import { type Period, periodsOf } from './periods.ts';
import { typedAmount } from './typed-amount.ts';

/** Of the filters whose values are no codes. */
const NAMES: Readonly<Record<string, string>> = {
  ...{ beneficiaryWords: 'Beneficiary', account: 'Account number', accountEnd: 'End of the account' },
  ...{ amount: 'Amount', clientId: 'Client' },
  ...{ batch: 'Batch', app: 'Application', createdFrom: 'Created from', createdTo: 'Created before' },
  ...{ endedFrom: 'Finished from', endedTo: 'Finished before', waiting: 'Waiting for' },
};
const HINTS: Readonly<Record<string, string>> = {
  beneficiaryWords: 'Beneficiary (words of the name)',
  accountEnd: 'Last four of the account',
  amount: 'Amount, such as 100.00 CNY',
};
/** By hashes, which this server has only with `PAYOUTS_SEARCH_KEYS`. */
const SEARCHED_BY = ['beneficiaryWords', 'account', 'accountEnd', 'amount', 'clientId', 'batch'] as const;
const TIMES = ['createdFrom', 'createdTo', 'endedFrom', 'endedTo'] as const;
const FILTERS = [
  'app',
  ...SEARCHED_BY,
  'phase',
  'outcome',
  'attention',
  ...TIMES,
  'limit',
  'waiting',
] as const;
const LIMITS = ['10', '25', '50', '100'];
const DEFAULT_LIMIT = '50';
type Filters = Partial<Record<(typeof FILTERS)[number], string | undefined>>;

export function payoutRoutes(scope: FastifyInstance, desk: Desk): void {
  getPage(scope, desk, '/payouts', async (visit, query, reply) => {
    const filters = filledIn(query, ...FILTERS);
    const { cursor } = filledIn(query, 'cursor');
    const frame = { title: 'Payouts', section: 'Payouts' } as const;
    if (!mayList(visit.caller))
      return {
        ...frame,
        content: html`<p class="warning">Your key is limited to clients, payers or users: search for payouts by their IDs, or open them in the inbox.</p>`,
      };
    const { waiting, ...listed } = filters;
    const times = Object.fromEntries(TIMES.map((name) => [name, inUtc(filters[name])]));
    const nowMs = desk.runtime.clock.wallMs();
    const views = viewsOf(nowMs);
    const form = (wrong: readonly FieldError[]) =>
      filterForm(filters, periodsOf(nowMs), desk.config.keys.search !== undefined, wrong);
    const amount = filters.amount && amountFilter(filters.amount, desk.config.PAYMENTS_TARGET_CURRENCIES);
    const checked = checkBody(payoutQuery, { ...listed, ...times, amount, cursor });
    if (!checked.ok) {
      const content = html`${tabs(views, filters)}${form(checked.errors)}`;
      return sendPage(reply, { ...frame, visit, content }, 400);
    }
    const page = await desk.service.listPayouts(visit.caller, checked.value);
    // Lists do not know who may decide: this narrows each page.
    const payouts = waiting
      ? page.payouts.filter(({ startedBy }) => mayDecide(visit, { startedBy }))
      : page.payouts;
    return {
      ...frame,
      actions: html`<a class="button plain" href="/desk/statement">Download a statement</a>`,
      content: html`${tabs(views, filters)}${form([])}${chips(views, filters)}${listOf({ ...page, payouts }, cursor)}${filters.phase === 'AWAITING_APPROVAL' && payouts.length > 0 && html`<p><a class="button" href="${link('/desk', filters.batch === undefined ? {} : { batch: filters.batch, app: filters.app })}#approvals">Decide in the inbox</a></p>`}
<p class="pages">${cursor !== undefined && html`<a class="button plain" href="${link('/desk/payouts', filters)}">First page</a>`}
${
  page.nextCursor !== undefined &&
  html`<a class="button plain" href="${link('/desk/payouts', { ...filters, cursor: page.nextCursor })}">Next page</a>`
}<span class="faint">The list may lag by a few seconds.</span></p>`,
    };
  });
}

type View = readonly [name: string, filters: Filters];

function viewsOf(nowMs: number): readonly View[] {
  const [today] = periodsOf(nowMs);
  const finishedToday = { endedFrom: `${today.from}T00:00` };
  return [
    ['All', {}],
    ['Waiting for me', { phase: 'AWAITING_APPROVAL', waiting: 'me' }],
    ['Awaiting approval', { phase: 'AWAITING_APPROVAL' }],
    ['Needs review', { phase: 'NEEDS_REVIEW' }],
    ['Processing', { phase: 'PROCESSING' }],
    ['Paid today', { outcome: 'SUCCESS', ...finishedToday }],
    ['Paid in part', { outcome: 'PARTIAL_SUCCESS' }],
    ['Failed today', { outcome: 'FAILED', ...finishedToday }],
    ['Flagged', { attention: 'true' }],
  ];
}

/** The filters by which views differ, and the others, which every view keeps. */
function split({ phase, outcome, attention, waiting, endedFrom, endedTo, ...others }: Filters) {
  const view: Filters = { phase, outcome, attention, waiting, endedFrom, endedTo };
  return { view, others };
}

const sameView = (one: Filters, other: Filters) => link('', split(one).view) === link('', split(other).view);

function tabs(views: readonly View[], filters: Filters): Html {
  const { others } = split(filters);
  return html`<ul class="tabs">${views.map(
    ([name, view]) =>
      html`<li><a href="${link('/desk/payouts', { ...view, ...others })}"${sameView(view, filters) && html` aria-current="true"`}>${name}</a></li>`,
  )}</ul>`;
}

/** Of the finish for payouts with an outcome; else of the start. */
function periodLinks(filters: Filters, periods: readonly Period[]): Html {
  const [from, to, name] =
    filters.outcome === undefined
      ? (['createdFrom', 'createdTo', 'Created'] as const)
      : (['endedFrom', 'endedTo', 'Finished'] as const);
  return html`<ul class="tabs"><li>${name}:</li>${periods.map((one) => {
    const within = { [from]: `${one.from}T00:00`, [to]: `${one.to}T00:00` };
    const isChosen = filters[from] === within[from] && filters[to] === within[to];
    return html`<li><a href="${link('/desk/payouts', { ...filters, ...within })}"${isChosen && html` aria-current="true"`}>${one.name}</a></li>`;
  })}</ul>`;
}

/** Browsers send the time of a form without an offset. */
function inUtc(local: string | undefined): string | undefined {
  return local !== undefined && /^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(local) ? `${local}:00Z` : local;
}

/** As the filter takes it. Without a currency, in the only one that is paid; what is no amount stays, and is refused. */
function amountFilter(text: string, currencies: readonly string[]): string {
  const { amount, currency = currencies.length === 1 ? currencies[0] : undefined } = typedAmount(text) ?? {};
  return amount !== undefined && currency !== undefined ? `${amount} ${currency}` : text;
}

/** The filters that no tab shows, each with a link that removes it. */
function chips(views: readonly View[], filters: Filters): Html | undefined {
  const { limit, ...known } = filters;
  const isView = views.some(([, view]) => sameView(view, filters));
  const { limit: _, ...others } = split(filters).others;
  const shown = Object.entries(isView ? others : known).flatMap(([name, value]) =>
    value ? [[name, value] as const] : [],
  );
  if (shown.length === 0) return undefined;
  return html`<ul class="chips">${shown.map(([name, value]) => {
    const rest = { ...known, limit, [name]: undefined };
    const about = NAMES[name] ?? label(name);
    return html`<li>${about}: <bdi>${NAMES[name] === undefined ? label(value) : value.replace('T00:00', '')}</bdi> <a href="${link('/desk/payouts', rest)}" aria-label="Remove the filter ${about}">✕</a></li>`;
  })}<li><a href="/desk/payouts">Clear all</a></li></ul>`;
}

function filterForm(
  filters: Filters,
  periods: readonly Period[],
  searches: boolean,
  wrong: readonly FieldError[],
): Html {
  const inputs: readonly string[] = ['app', ...(searches ? SEARCHED_BY : []), ...TIMES];
  const others = wrong.filter(({ path }) => !inputs.includes(path));
  const input = (name: keyof Filters, attributes: Html) => {
    const why = wrong.find(({ path }) => path === name)?.message;
    return html`<input id="${name}" name="${name}" ${attributes} value="${filters[name] ?? ''}"${why && html` aria-invalid="true" aria-describedby="${name}-error"`}>${why && html`<p class="error" role="alert" id="${name}-error">${NAMES[name]} ${why}</p>`}`;
  };
  return html`${others.length > 0 && html`<p class="warning" role="alert">${others.map(({ path, message }) => `${path} ${message}`).join('; ')}</p>`}<details${wrong.length > 0 && html` open`}><summary>Filters</summary>${periodLinks(filters, periods)}<form class="card" action="/desk/payouts" aria-label="Filter the list"><div class="fields">
<div><label for="phase">Phase</label>${choice('phase', PHASES, filters.phase)}</div>
<div><label for="outcome">Outcome</label>${choice('outcome', OUTCOMES, filters.outcome)}</div>
${searches && SEARCHED_BY.map((name) => html`<div><label for="${name}">${HINTS[name] ?? NAMES[name]}</label>${input(name, html`maxlength="256"`)}</div>`)}
<div><label for="app">Application</label>${input('app', html`maxlength="32"`)}</div>
${TIMES.map((name) => html`<div><label for="${name}">${NAMES[name]} (UTC)</label>${input(name, html`type="datetime-local"`)}</div>`)}
<div><label for="limit">Rows on a page</label>${choice('limit', LIMITS, filters.limit ?? DEFAULT_LIMIT)}</div>
<div><label class="choice"><input type="checkbox" name="attention" value="true"${filters.attention === 'true' && html` checked`}> Flagged only</label></div>
<div><button>Filter</button></div></div></form></details>`;
}

function choice(name: string, codes: readonly string[], chosen: string | undefined): Html {
  const options = codes.map(
    (code) => html`<option value="${code}"${code === chosen && html` selected`}>${label(code)}</option>`,
  );
  const any = codes === LIMITS ? undefined : html`<option value="">Any</option>`;
  return html`<select id="${name}" name="${name}">${any}${options}</select>`;
}

function listOf({ payouts, nextCursor }: PayoutPage, cursor: string | undefined): Html {
  if (payouts.length === 0)
    return empty(
      nextCursor === undefined ? 'No payout matches' : 'No payout on this page matches',
      html`Remove a filter, or <a href="/desk/payouts">show all payouts</a>.`,
    );
  const amounts = payouts.flatMap(({ instructedAmount }) => instructedAmount ?? []);
  const isAll = cursor === undefined && nextCursor === undefined;
  return payoutTable(
    payouts,
    html`${payouts.length} ${payouts.length === 1 ? 'payout' : 'payouts'}${!isAll && ' on this page'}${amounts.length === payouts.length && html`: ${totals(amounts)}`}. Open ones first, newest first`,
    !isAll,
  );
}

/** Payouts as lists know them. */
export function payoutTable(payouts: readonly ListedPayout[], caption: unknown, isPart = false): Html {
  return table({
    caption,
    sorts: isPart ? 'part' : true,
    kind: 'payouts',
    head: ['Payout', 'Beneficiary', 'Amount#', 'Status', 'Client', 'Started by', 'Started'],
    rows: payouts.map((one) => [
      html`<a href="${payoutLink(one)}">${one.partnerOrderId}</a>${one.app !== 'default' && html`<small>${one.app}</small>`}`,
      beneficiary(one),
      money(one.instructedAmount),
      html`${status(one)} ${one.needsAttention && pill('FLAGGED', 'bad')}`,
      one.clientId,
      one.startedBy,
      time(one.startedAt),
    ]),
  });
}
