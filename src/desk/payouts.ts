/** `/desk/payouts`: the list with its filters. */
import type { FastifyInstance } from 'fastify';
import { OUTCOMES, PHASES } from '../contract/codes.ts';
import type { ListedPayout, PayoutPage } from '../contract/lists.ts';
import { mayList } from '../domain/permissions.ts';
import { payoutQuery, valid } from '../service/requests.ts';
import { type Desk, filledIn, getPage } from './context.ts';
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

/** Of the filters whose values are no codes. */
const NAMES: Readonly<Record<string, string>> = {
  ...{ beneficiary: 'Beneficiary', account: 'Account number', amount: 'Amount', clientId: 'Client' },
  ...{ batch: 'Batch', app: 'Application', createdFrom: 'Created from', createdTo: 'Created before' },
};
const HINTS: Readonly<Record<string, string>> = {
  beneficiary: 'Beneficiary (the whole name)',
  amount: 'Amount, such as 100.00 CNY',
};
/** By hashes, which this server has only with `PAYOUTS_SEARCH_KEYS`. */
const SEARCHED_BY = ['beneficiary', 'account', 'amount', 'clientId', 'batch'] as const;
const FILTERS = [
  'app',
  ...SEARCHED_BY,
  'phase',
  'outcome',
  'attention',
  'createdFrom',
  'createdTo',
  'limit',
] as const;
const LIMITS = ['10', '25', '50', '100'];
const DEFAULT_LIMIT = '50';
type Filters = Partial<Record<(typeof FILTERS)[number], string>>;

export function payoutRoutes(scope: FastifyInstance, desk: Desk): void {
  getPage(scope, desk, '/payouts', async (visit, query) => {
    const filters = filledIn(query, ...FILTERS);
    const { cursor } = filledIn(query, 'cursor');
    const frame = { title: 'Payouts', section: 'Payouts' } as const;
    if (!mayList(visit.caller))
      return {
        ...frame,
        content: html`<p class="warning">Your key is limited to clients, payers or users: search for payouts by their ids, or open them in the inbox.</p>`,
      };
    const times = { createdFrom: inUtc(filters.createdFrom), createdTo: inUtc(filters.createdTo) };
    const asked = valid(payoutQuery, { ...filters, ...times, cursor });
    const page = await desk.service.listPayouts(visit.caller, asked);
    return {
      ...frame,
      actions: html`<a class="button plain" href="/desk/statement">Download a statement</a>`,
      content: html`${tabs(filters)}${filterForm(filters, desk.config.keys.search !== undefined)}${chips(filters)}${listOf(page, cursor)}
<p class="pages">${cursor !== undefined && html`<a class="button plain" href="${link('/desk/payouts', filters)}">First page</a>`}
${
  page.nextCursor !== undefined &&
  html`<a class="button plain" href="${link('/desk/payouts', { ...filters, cursor: page.nextCursor })}">Next page</a>`
}<span class="faint">The list may lag by a few seconds.</span></p>`,
    };
  });
}

const TABS: readonly (readonly [name: string, filters: Filters])[] = [
  ['All', {}],
  ['Awaiting approval', { phase: 'AWAITING_APPROVAL' }],
  ['In review', { phase: 'NEEDS_REVIEW' }],
  ['Processing', { phase: 'PROCESSING' }],
  ['Success', { outcome: 'SUCCESS' }],
  ['Partial success', { outcome: 'PARTIAL_SUCCESS' }],
  ['Failed', { outcome: 'FAILED' }],
  ['Flagged', { attention: 'true' }],
];

/** They keep the other filters. */
function tabs({ phase, outcome, attention, ...others }: Filters): Html {
  const chosen = link('', { phase, outcome, attention });
  return html`<ul class="tabs">${TABS.map(([name, filters]) => {
    const href = link('/desk/payouts', { ...filters, ...others });
    return link('', filters) === chosen
      ? html`<li><a href="${href}" aria-current="true">${name}</a></li>`
      : html`<li><a href="${href}">${name}</a></li>`;
  })}</ul>`;
}

/** Browsers send the time of a form without an offset. */
function inUtc(local: string | undefined): string | undefined {
  return local !== undefined && /^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(local) ? `${local}:00Z` : local;
}

/** The filters that no tab shows, each with a link that removes it. */
function chips({ phase, outcome, attention, limit, ...others }: Filters): Html | undefined {
  const chosen = { phase, outcome, attention };
  const isTab = TABS.some(([, tab]) => link('', tab) === link('', chosen));
  const shown = Object.entries(isTab ? others : { ...chosen, ...others }).filter(([, value]) => value);
  if (shown.length === 0) return undefined;
  return html`<ul class="chips">${shown.map(([name, value]) => {
    const rest = { ...chosen, ...others, limit, [name]: undefined };
    return html`<li>${NAMES[name] ?? label(name)}: <bdi>${NAMES[name] === undefined ? label(value) : value}</bdi> <a href="${link('/desk/payouts', rest)}" aria-label="Remove the filter ${NAMES[name] ?? name}">✕</a></li>`;
  })}<li><a href="/desk/payouts">Clear all</a></li></ul>`;
}

function filterForm(filters: Filters, searches: boolean): Html {
  return html`<details><summary>Filters</summary><form class="card" action="/desk/payouts" aria-label="Filter the list"><div class="fields">
<div><label for="phase">Phase</label>${choice('phase', PHASES, filters.phase)}</div>
<div><label for="outcome">Outcome</label>${choice('outcome', OUTCOMES, filters.outcome)}</div>
${searches && SEARCHED_BY.map((name) => html`<div><label for="${name}">${HINTS[name] ?? NAMES[name]}</label><input id="${name}" name="${name}" maxlength="256" value="${filters[name] ?? ''}"></div>`)}
<div><label for="app">Application</label><input id="app" name="app" maxlength="32" value="${filters.app ?? ''}"></div>
<div><label for="createdFrom">Created from (UTC)</label><input id="createdFrom" name="createdFrom" type="datetime-local" value="${filters.createdFrom ?? ''}"></div>
<div><label for="createdTo">Created before (UTC)</label><input id="createdTo" name="createdTo" type="datetime-local" value="${filters.createdTo ?? ''}"></div>
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
      'No payout matches',
      html`Remove a filter, or <a href="/desk/payouts">show all payouts</a>.`,
    );
  const amounts = payouts.flatMap(({ instructedAmount }) => instructedAmount ?? []);
  const isAll = cursor === undefined && nextCursor === undefined;
  return payoutTable(
    payouts,
    html`${payouts.length} ${payouts.length === 1 ? 'payout' : 'payouts'}${!isAll && ' on this page'}${amounts.length === payouts.length && html`: ${totals(amounts)}`}. Open ones first, newest first`,
  );
}

/** Payouts as lists know them. */
export function payoutTable(payouts: readonly ListedPayout[], caption: unknown): Html {
  return table({
    caption,
    sorts: true,
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
