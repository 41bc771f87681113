/** `/desk/statement`: the totals of a period, and downloads of its statement and of the results of a batch. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { Caller } from '../config/callers.ts';
import { hasPaid } from '../contract/codes.ts';
import type { FieldError } from '../contract/failures.ts';
import { checkBody } from '../contract/fields.ts';
import type { Money } from '../contract/money.ts';
import type { StatementRow } from '../contract/statement.ts';
import { mayList } from '../domain/permissions.ts';
import { goneSignal } from '../http/connections.ts';
import { sendStatement } from '../http/statements.ts';
import { requireVerb } from '../service/permissions.ts';
import { batchRef, resultsQuery, statementQuery, valid } from '../service/requests.ts';
import { type Desk, filledIn, getPage, idIn, ifKnown } from './context.ts';
import { amounts, lostIn, outcomeTable, receivedIn, returnedIn, tile } from './ended.ts';
import { empty, type Html, html, link, table } from './html.ts';
import { sendPage } from './layout.ts';
import { periodsOf } from './periods.ts';

const DAY = /^\d{4}-\d\d-\d\d$/;

export function statementRoutes(scope: FastifyInstance, desk: Desk): void {
  const mayRead = (request: FastifyRequest) => () => requireVerb(desk.identity.callerOf(request), 'read');

  getPage(scope, desk, '/statement', async (visit, query, reply) => {
    const { caller } = visit;
    const periods = periodsOf(desk.runtime.clock.wallMs());
    const [today] = periods;
    const { from = today.from, to = today.to, app } = filledIn(query, 'from', 'to', 'app');
    const chosen = { from, to, app };
    const frame = { title: 'Statements', section: 'Statements' } as const;
    const tabs = html`<ul class="tabs">${periods.map(
      (one) =>
        html`<li><a href="${link('/desk/statement', { from: one.from, to: one.to, app })}"${one.from === from && one.to === to && html` aria-current="true"`}>${one.name}</a></li>`,
    )}</ul>`;
    const checked = checkBody(statementQuery, { from: midnight(from), to: midnight(to), app });
    const wrong = checked.ok ? orderErrors(chosen) : checked.errors.map(ofDay);
    if (!checked.ok || wrong.length > 0)
      return sendPage(reply, { ...frame, visit, content: html`${tabs}${form(chosen, wrong)}` }, 400);
    return {
      ...frame,
      content: html`${tabs}${form(chosen)}${
        mayList(caller)
          ? html`${await totalsOf(desk, caller, checked.value, goneSignal(reply))}${downloads(chosen)}`
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

/** People choose days, not times. */
function ofDay({ path, message }: FieldError): FieldError {
  return { path, message: path === 'app' ? message : 'must be a day, such as 2026-11-30' };
}

/** `from` is a day before `to`. */
function orderErrors({ from, to }: Chosen): FieldError[] {
  return from < to ? [] : [{ path: 'to', message: 'must be after From' }];
}

/** Results, which have debits and fees, are read one by one: of the last so many payouts. */
const MAX_RESULTS = 100;

/** What the statement will add up to, from lists: six calls to Temporal for a thousand payouts. */
async function totalsOf(desk: Desk, caller: Caller, filter: Filter, gone: AbortSignal): Promise<Html> {
  const { counts, payouts, isCut } = await desk.service.statements.finished(caller, filter);
  const finished = [...counts.values()].reduce((sum, count) => sum + count, 0);
  if (finished === 0 && payouts.length === 0)
    return empty('No payout finished in this period', 'The statement would have no rows.');
  const rows = await ifKnown(lastRows(desk, caller, filter, gone));
  const paid = rows?.filter(({ outcome }) => hasPaid(outcome)) ?? [];
  const about = isCut && `Of the last ${payouts.length}: the file has all`;
  const ofResults = aboutResults(rows?.length, finished);
  const returned = returnedIn(payouts);
  return html`<div class="tiles">${tile('Payouts', finished, 'Finished in this period')}
${tile('Received', amounts(receivedIn(payouts)), about || 'By beneficiaries, without what came back')}
${returned.length > 0 && tile('Returned', amounts(returned), about || 'Came back after it had arrived')}
${tile('Not received', amounts(lostIn(payouts)), about || 'Failed, or not paid')}
${tile('Debited', amounts(paid.flatMap(debited)), ofResults)}
${tile('Fees', amounts(paid.flatMap(fees)), ofResults)}</div>
${outcomeTable({ counts, payouts, isCut, whole: 'The file has those of all payouts' })}${byPayer(paid, ofResults)}`;
}

const debited = ({ debits }: StatementRow): Money[] => debits.map(({ pay }) => pay);
const fees = ({ debits }: StatementRow): Money[] => debits.map(({ fee }) => fee);

function aboutResults(read: number | undefined, finished: number): string {
  if (read === undefined) return 'Could not be read now: the file has it';
  return read === MAX_RESULTS && finished > read
    ? `Of the last ${read} payouts: the file has all`
    : 'For paid payouts, by the provider';
}

/** More payers are in the file. */
const MAX_PAYERS = 10;

function byPayer(paid: readonly StatementRow[], about: string): Html | undefined {
  const payers = [...new Set(paid.map(({ payerId }) => payerId))].sort();
  if (payers.length < 2 || payers.length > MAX_PAYERS) return undefined;
  return table({
    caption: `Debits by payer. ${about}`,
    head: ['Payer', 'Paid payouts#', 'Debited#', 'Fees in it#'],
    rows: payers.map((payer) => {
      const own = paid.filter(({ payerId }) => payerId === payer);
      return [payer ?? 'unknown', own.length, amounts(own.flatMap(debited)), amounts(own.flatMap(fees))];
    }),
  });
}

async function lastRows({ service }: Desk, caller: Caller, filter: Filter, gone: AbortSignal) {
  const { rows } = await service.statements.period(caller, filter, gone);
  const read: StatementRow[] = [];
  for await (const row of rows) {
    read.push(row);
    if (read.length === MAX_RESULTS) break;
  }
  return read;
}

type Filter = z.output<typeof statementQuery>;

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

function form({ from, to, app }: Chosen, wrong: readonly FieldError[] = []): Html {
  const input = (name: keyof Chosen, about: string, value: string | undefined, attributes: Html) => {
    const why = wrong.find(({ path }) => path === name)?.message;
    return html`<div><label for="${name}">${about}</label><input id="${name}" name="${name}" value="${value ?? ''}" ${attributes}${why && html` aria-invalid="true" aria-describedby="${name}-error"`}>${why && html`<p class="error" role="alert" id="${name}-error">${about} ${why}</p>`}</div>`;
  };
  const date = html`type="date" required`;
  return html`<details${wrong.length > 0 && html` open`}><summary>Another period</summary><form class="card" action="/desk/statement" aria-label="Choose a period"><div class="fields">
${input('from', 'From (UTC)', from, date)}
${input('to', 'Before (UTC)', to, date)}
${input('app', 'Application, all if empty', app, html`maxlength="32"`)}
<div><button>Show</button></div></div></form></details>`;
}
