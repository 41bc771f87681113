/** `/desk/statement`: the totals of a period, and downloads of its statement and of the results of a batch. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { Caller } from '../config/callers.ts';
import type { Money } from '../contract/money.ts';
import { mayList } from '../domain/permissions.ts';
import { goneSignal } from '../http/connections.ts';
import { sendStatement } from '../http/statements.ts';
import { requireVerb } from '../service/permissions.ts';
import { batchRef, resultsQuery, statementQuery, valid } from '../service/requests.ts';
import { type Desk, filledIn, getPage, idIn, ifKnown } from './context.ts';
import { amounts, lostIn, outcomeTable, receivedIn, tile } from './ended.ts';
import { empty, type Html, html, link } from './html.ts';
import { periodsOf } from './periods.ts';

const DAY = /^\d{4}-\d\d-\d\d$/;

export function statementRoutes(scope: FastifyInstance, desk: Desk): void {
  const mayRead = (request: FastifyRequest) => () => requireVerb(desk.identity.callerOf(request), 'read');

  getPage(scope, desk, '/statement', async ({ caller }, query, reply) => {
    const periods = periodsOf(desk.runtime.clock.wallMs());
    const [today] = periods;
    const { from = today.from, to = today.to, app } = filledIn(query, 'from', 'to', 'app');
    const filter = valid(statementQuery, { from: midnight(from), to: midnight(to), app });
    const chosen = { from, to, app };
    return {
      title: 'Statements',
      section: 'Statements',
      content: html`<ul class="tabs">${periods.map(
        (one) =>
          html`<li><a href="${link('/desk/statement', { from: one.from, to: one.to, app })}"${one.from === from && one.to === to && html` aria-current="true"`}>${one.name}</a></li>`,
      )}</ul>${form(chosen)}${
        mayList(caller)
          ? html`${await totalsOf(desk, caller, filter, goneSignal(reply))}${downloads(chosen)}`
          : html`<p class="warning">Your key is limited to clients, payers or users, and cannot list: download the results of a batch from its page.</p>`
      }`,
    };
  });

  getPage(scope, desk, '/statement/file', async ({ caller }, query, reply) => {
    const { from = '', to = '', ...others } = filledIn(query, 'from', 'to', 'app', 'format', 'details');
    const filter = valid(statementQuery, { ...others, from: midnight(from), to: midnight(to) });
    const statement = await desk.service.statements.period(caller, filter, goneSignal(reply));
    const name = `statement-${from}-${to}`;
    return sendStatement(reply, statement, {
      ...filter,
      name,
      requireAllowed: mayRead(reply.request),
    });
  });

  getPage(scope, desk, '/batch/results', async ({ caller }, query, reply) => {
    const id = idIn(batchRef, query);
    const { format, details } = valid(resultsQuery, filledIn(query, 'app', 'format', 'details'));
    const statement = await desk.service.statements.batch(caller, id, goneSignal(reply));
    const name = `batch-${id.batchId}`;
    return sendStatement(reply, statement, {
      ...{ format, details, name },
      requireAllowed: mayRead(reply.request),
    });
  });
}

export function resultsLinks(id: { app: string; batchId: string }): Html {
  const file = { ...id, format: 'csv' };
  return html`<span class="buttons"><a class="button plain" href="${link('/desk/batch/results', file)}">Download the results (CSV)</a>
<a href="${link('/desk/batch/results', { ...file, details: 'true' })}">with debits and splits</a></span>`;
}

/** A day begins at midnight (UTC). Other text is refused with the field's name. */
function midnight(day: string): string {
  return DAY.test(day) ? `${day}T00:00:00Z` : day;
}

/** Results, which have the fees, are read one by one: of so many payouts. */
const MAX_FEES = 100;

/** What the statement will add up to, from lists: five calls to Temporal for thousands of payouts. */
async function totalsOf(
  desk: Desk,
  caller: Caller,
  filter: z.output<typeof statementQuery>,
  gone: AbortSignal,
): Promise<Html> {
  const { counts, payouts, isCut } = await desk.service.statements.finished(caller, filter);
  const finished = [...counts.values()].reduce((sum, count) => sum + count, 0);
  if (finished === 0 && payouts.length === 0)
    return empty('No payout finished in this period', 'The statement would have no rows.');
  const fees = finished > MAX_FEES ? undefined : await ifKnown(feesOf(desk, caller, filter, gone));
  const about = isCut && `Of the last ${payouts.length}: the file has all`;
  return html`<div class="tiles">${tile('Payouts', finished, 'Finished in this period')}
${tile('Received', amounts(receivedIn(payouts)), about || 'By beneficiaries')}
${tile('Not received', amounts(lostIn(payouts)), about || 'Failed, or not paid')}
${tile('Fees', fees ? amounts(fees) : 'In the file', fees ? 'Of paid payouts, by their quotes' : `Shown here for up to ${MAX_FEES} payouts`)}</div>
${outcomeTable({ counts, payouts, isCut, whole: 'The file has those of all payouts' })}`;
}

async function feesOf(
  { service }: Desk,
  caller: Caller,
  filter: z.output<typeof statementQuery>,
  gone: AbortSignal,
): Promise<Money[]> {
  const { rows } = await service.statements.period(caller, filter, gone);
  const fees: Money[] = [];
  for await (const { outcome, fee } of rows)
    if (fee && (outcome === 'SUCCESS' || outcome === 'PARTIAL_SUCCESS')) fees.push(fee);
  return fees;
}

interface Chosen {
  from: string;
  to: string;
  app: string | undefined;
}

const FILES = [
  ['CSV, for spreadsheets', { format: 'csv' }],
  ['CSV with debits and splits', { format: 'csv', details: 'true' }],
  ['NDJSON', { format: 'ndjson' }],
  ['JSON', { format: 'json' }],
] as const;

function downloads(chosen: Chosen): Html {
  return html`<section class="card"><h2>Download the statement</h2><p>One row for each payout that finished on ${chosen.from} or later, and before ${chosen.to} (UTC); the last to finish first. The last line says that the file is complete.</p>
<div class="buttons">${FILES.map(
    ([name, file], at) =>
      html`<a class="button ${at > 0 && 'plain'}" href="${link('/desk/statement/file', { ...chosen, ...file })}">${name}</a>`,
  )}</div></section>`;
}

function form({ from, to, app }: Chosen): Html {
  return html`<details><summary>Another period</summary><form class="card" action="/desk/statement" aria-label="Choose a period"><div class="fields">
<div><label for="from">From (UTC)</label><input id="from" name="from" type="date" value="${from}" required></div>
<div><label for="to">Before (UTC)</label><input id="to" name="to" type="date" value="${to}" required></div>
<div><label for="app">Application, all if empty</label><input id="app" name="app" maxlength="32" value="${app ?? ''}"></div>
<div><button>Show</button></div></div></form></details>`;
}
