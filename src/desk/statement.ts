/** `/desk/statement`: downloads of statements, and of the results of a batch. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { DAY_MS, dayOf } from '../domain/time.ts';
import { goneSignal } from '../http/connections.ts';
import { sendStatement } from '../http/statements.ts';
import { requireVerb } from '../service/permissions.ts';
import { batchRef, resultsQuery, statementQuery, valid } from '../service/requests.ts';
import { type Desk, filledIn, getPage, idIn } from './context.ts';
import { type Html, html, link } from './html.ts';

const DAY = /^\d{4}-\d\d-\d\d$/;

export function statementRoutes(scope: FastifyInstance, desk: Desk): void {
  const mayRead = (request: FastifyRequest) => () => requireVerb(desk.identity.callerOf(request), 'read');

  getPage(scope, desk, '/statement', async () => ({
    title: 'Statements',
    section: 'Statements',
    content: form(desk.runtime.clock.wallMs()),
  }));

  getPage(scope, desk, '/statement/file', async ({ caller }, query, reply) => {
    const { from = '', to = '', ...others } = filledIn(query, 'from', 'to', 'app', 'format');
    const filter = valid(statementQuery, { ...others, from: midnight(from), to: midnight(to) });
    const statement = await desk.service.statement(caller, filter, goneSignal(reply));
    const name = `statement-${from}-${to}`;
    return sendStatement(reply, statement, {
      format: filter.format,
      name,
      requireAllowed: mayRead(reply.request),
    });
  });

  getPage(scope, desk, '/batch/results', async ({ caller }, query, reply) => {
    const id = idIn(batchRef, query);
    const { format } = valid(resultsQuery, filledIn(query, 'app', 'format'));
    const statement = await desk.service.batchResults(caller, id, goneSignal(reply));
    const name = `batch-${id.batchId}`;
    return sendStatement(reply, statement, { format, name, requireAllowed: mayRead(reply.request) });
  });
}

export function resultsLink(id: { app: string; batchId: string }): Html {
  return html`<a class="button plain" href="${link('/desk/batch/results', { ...id, format: 'csv' })}">Download the results (CSV)</a>`;
}

/** A day begins at midnight (UTC). Other text is refused with the field's name. */
function midnight(day: string): string {
  return DAY.test(day) ? `${day}T00:00:00Z` : day;
}

function form(nowMs: number): Html {
  const today = dayOf(nowMs);
  const tomorrow = dayOf(nowMs + DAY_MS);
  const month = `${today.slice(0, 8)}01`;
  const periods = [
    ['Today', today, tomorrow],
    ['Yesterday', dayOf(nowMs - DAY_MS), today],
    ['This month', month, tomorrow],
    ['Last month', `${dayOf(Date.parse(month) - DAY_MS).slice(0, 8)}01`, month],
  ] as const;
  return html`<p>A statement has a row for each payout that finished in the period, the last to finish first. Its last line says that the file is complete. Days are in UTC.</p>
<section class="card"><h2>Download as CSV</h2><div class="buttons">${periods.map(
    ([name, from, to]) =>
      html`<a class="button plain" href="${link('/desk/statement/file', { from, to, format: 'csv' })}">${name}</a>`,
  )}</div></section>
<section class="card"><h2>Another period</h2><form method="get" action="/desk/statement/file">
<div class="fields"><div><label for="from">From (UTC)</label><input id="from" name="from" type="date" value="${month}" required></div>
<div><label for="to">Before (UTC)</label><input id="to" name="to" type="date" value="${tomorrow}" required></div>
<div><label for="app">Application, all if empty</label><input id="app" name="app" maxlength="32"></div>
<div><label for="format">Format</label><select id="format" name="format"><option value="csv">CSV, for spreadsheets</option><option value="ndjson">NDJSON</option><option value="json">JSON</option></select></div>
<div><button>Download</button></div></div></form></section>`;
}
