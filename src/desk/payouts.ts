/** `/desk/payouts`: search by id, and the list with its filters. */
import type { FastifyInstance } from 'fastify';
import { OUTCOMES, PHASES } from '../contract/codes.ts';
import type { PayoutPage } from '../contract/lists.ts';
import { mayList } from '../domain/permissions.ts';
import { payoutQuery, valid } from '../service/requests.ts';
import { type Desk, filledIn, getPage } from './context.ts';
import { type Html, html, label, link, money, payoutLink, table, time } from './html.ts';

const FILTERS = ['app', 'phase', 'outcome', 'attention', 'createdFrom', 'createdTo', 'limit'] as const;
const LIMITS = ['10', '25', '50', '100'];
const DEFAULT_LIMIT = '50';
type Filters = Partial<Record<(typeof FILTERS)[number], string>>;

export function payoutRoutes(scope: FastifyInstance, desk: Desk): void {
  getPage(scope, desk, '/payouts', async (visit, query, reply) => {
    const { partnerOrderId, idApp } = filledIn(query, 'partnerOrderId', 'idApp');
    if (partnerOrderId !== undefined)
      return reply.redirect(payoutLink({ app: idApp ?? 'default', partnerOrderId }), 303);
    const filters = filledIn(query, ...FILTERS);
    const { cursor } = filledIn(query, 'cursor');
    const frame = { title: 'Payouts', section: 'Payouts' } as const;
    if (!mayList(visit.caller))
      return {
        ...frame,
        content: html`${idForm()}<p class="warning">Your key is limited to clients, payers or users: open payouts by their ids, or in the inbox.</p>`,
      };
    const times = { createdFrom: inUtc(filters.createdFrom), createdTo: inUtc(filters.createdTo) };
    const asked = valid(payoutQuery, { ...filters, ...times, cursor });
    const page = await desk.service.listPayouts(visit.caller, asked);
    return {
      ...frame,
      content: html`${idForm()}${filterForm(filters)}${listOf(page)}${
        page.nextCursor !== undefined &&
        html`<p><a href="${link('/desk/payouts', { ...filters, cursor: page.nextCursor })}">Next page</a></p>`
      }<p class="faint">The list may lag by a few seconds.</p>`,
    };
  });
}

/** Browsers send the time of a form without an offset. */
function inUtc(local: string | undefined): string | undefined {
  return local !== undefined && /^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(local) ? `${local}:00Z` : local;
}

function idForm(): Html {
  return html`<form action="/desk/payouts" role="search" aria-label="Find a payout by its id"><div class="filters">
<div><label for="partnerOrderId">Payout id</label><input id="partnerOrderId" name="partnerOrderId" maxlength="64" required></div>
<div><label for="idApp">Its application</label><input id="idApp" name="idApp" value="default" maxlength="32"></div>
<div><button>Open</button></div></div></form>`;
}

function filterForm(filters: Filters): Html {
  const isOn = filters.attention === 'true';
  return html`<h2>List</h2><form action="/desk/payouts" aria-label="Filter the list"><div class="filters">
<div><label for="app">Application</label><input id="app" name="app" maxlength="32" value="${filters.app ?? ''}"></div>
<div><label for="phase">Phase</label>${choice('phase', PHASES, filters.phase)}</div>
<div><label for="outcome">Outcome</label>${choice('outcome', OUTCOMES, filters.outcome)}</div>
<div><label for="createdFrom">Created from (UTC)</label><input id="createdFrom" name="createdFrom" type="datetime-local" value="${filters.createdFrom ?? ''}"></div>
<div><label for="createdTo">Created before (UTC)</label><input id="createdTo" name="createdTo" type="datetime-local" value="${filters.createdTo ?? ''}"></div>
<div><label class="choice"><input type="checkbox" name="attention" value="true"${isOn && html` checked`}> Needs attention</label></div>
<div><label for="limit">Rows on a page</label>${choice('limit', LIMITS, filters.limit ?? DEFAULT_LIMIT)}</div>
<div><button>Filter</button></div></div></form>`;
}

function choice(name: string, codes: readonly string[], chosen: string | undefined): Html {
  const options = codes.map(
    (code) => html`<option value="${code}"${code === chosen && html` selected`}>${label(code)}</option>`,
  );
  const any = codes === LIMITS ? undefined : html`<option value="">Any</option>`;
  return html`<select id="${name}" name="${name}">${any}${options}</select>`;
}

function listOf({ payouts }: PayoutPage): Html {
  if (payouts.length === 0) return html`<p>No payout matches.</p>`;
  return table({
    caption: 'Payouts: open ones first, the newest first',
    head: ['Payout', 'Amount', 'Client', 'Application', 'Phase', 'Outcome', 'Attention', 'Order', 'Started'],
    rows: payouts.map((one) => [
      html`<a href="${payoutLink(one)}">${one.partnerOrderId}</a>`,
      one.instructedAmount && money(one.instructedAmount),
      one.clientId,
      one.app,
      label(one.phase),
      label(one.outcome),
      one.needsAttention && 'Needs attention',
      one.orderId,
      time(one.startedAt),
    ]),
  });
}
