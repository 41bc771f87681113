/** `/desk/batches` and `/desk/batch`: the list of batches, and the progress of one. */
import type { FastifyInstance } from 'fastify';
import type { z } from 'zod';
import { isScoped } from '../domain/permissions.ts';
import { stateBody } from '../starters/api/batch-operations.ts';
import { batchPage } from '../starters/api/list-operations.ts';
import { may } from './acting.ts';
import { uploadForm, uploadRoutes } from './batch-uploads.ts';
import { type Desk, filledIn, getPage, postForm, redirectWith, takeNotice } from './context.ts';
import { facts, type Html, hidden, html, label, link, table, time } from './html.ts';
import type { Visit } from './identity.ts';
import { sendPage } from './layout.ts';

const REFRESH_SECONDS = 3;

type BatchState = z.output<typeof stateBody>['state'];

export function batchRoutes(scope: FastifyInstance, desk: Desk): void {
  uploadRoutes(scope, desk);

  getPage(scope, desk, '/batches', async (visit, _request, reply, query) => {
    const { cursor } = filledIn(query, 'cursor');
    return sendPage(reply, {
      ...{ title: 'Batches', visit, section: 'Batches' },
      content: html`${may(visit.caller, 'batch') && uploadForm(visit)}${await listOf(desk, visit, cursor)}`,
    });
  });

  getPage(scope, desk, '/batch', async (visit, request, reply, query) => {
    const { app = 'default', batchId = '', live } = filledIn(query, 'app', 'batchId', 'live');
    const { state } = stateBody.parse(
      await desk.acting.run(visit.caller, 'GET /v1/payout-batches/{batchId}', {
        params: { batchId },
        query: { app },
      }),
    );
    const isLive = state.phase !== 'DONE' && live !== 'off';
    // Without scripts, the browser loads the page again.
    if (isLive) reply.header('refresh', String(REFRESH_SECONDS));
    return sendPage(reply, {
      ...{ title: `Batch ${batchId}`, visit, section: 'Batches', notice: takeNotice(request) },
      content: html`${progress(state)}${state.phase !== 'DONE' && liveLink(state, isLive)}${counts(state)}${cancelForm(visit, state)}`,
    });
  });

  postForm(
    scope,
    desk,
    { path: '/batches/cancel', verb: 'cancel' },
    async (visit, _request, reply, fields) => {
      const { app = '', batchId = '' } = fields;
      await desk.acting.run(visit.caller, 'POST /v1/payout-batches/{batchId}/cancel', {
        params: { batchId },
        query: { app },
      });
      return redirectWith(reply, link('/desk/batch', { app, batchId }), {
        ...{ done: 'cancel', app, id: batchId, kind: 'batch' },
      });
    },
  );
}

async function listOf(desk: Desk, { caller }: Visit, cursor: string | undefined): Promise<Html> {
  if (isScoped(caller))
    return html`<p class="warning">Your key is limited to clients, payers or users: open batches by their addresses.</p>`;
  const query = cursor === undefined ? {} : { cursor };
  const { batches, nextCursor } = batchPage.parse(
    await desk.acting.run(caller, 'GET /v1/payout-batches', { query }),
  );
  if (batches.length === 0)
    return html`<h2>List</h2><p>There are no batches${cursor !== undefined && ' on this page'}.</p>`;
  const rows = batches.map(({ app, batchId, startedAt, endedAt, workflow }) => [
    html`<a href="${link('/desk/batch', { app, batchId })}">${batchId}</a>`,
    ...[app, time(startedAt), endedAt === undefined ? 'open' : time(endedAt), label(workflow)],
  ]);
  return html`<h2>List</h2>${table({
    caption: 'Batches: open ones first, the newest first',
    head: ['Batch', 'Application', 'Started', 'Ended', 'Workflow'],
    rows,
  })}${nextCursor !== undefined && html`<p><a href="${link('/desk/batches', { cursor: nextCursor })}">Next page</a></p>`}`;
}

function progress({ sentence, nextStep, done, count }: BatchState): Html {
  return html`<p class="amount" role="status">${sentence}</p><p class="faint">Next step: ${nextStep}</p>
<p><label for="progress">${done} of ${count} rows have ended</label><progress id="progress" value="${done}" max="${count}">${done} of ${count}</progress></p>`;
}

function liveLink({ app, batchId }: BatchState, isLive: boolean): Html {
  return isLive
    ? html`<p>This page loads again every ${REFRESH_SECONDS} seconds. <a href="${link('/desk/batch', { app, batchId, live: 'off' })}">Stop that</a></p>`
    : html`<p><a href="${link('/desk/batch', { app, batchId })}">Follow the progress</a></p>`;
}

function counts(state: BatchState): Html {
  const { outcomes, phases, rows } = state;
  const counted = [
    ...Object.entries(phases).map(([phase, count]) => [`Open: ${label(phase)}`, count] as const),
    ...Object.entries(outcomes).map(([outcome, count]) => [`Ended: ${label(outcome)}`, count] as const),
  ].filter(([, count]) => count !== undefined && count > 0);
  const listed = Object.entries(rows).filter(([, at]) => at.length > 0);
  return html`${facts([
    ['Application', state.app],
    ['Rows', state.count],
    ['Added', state.added],
    ['Started', state.started],
    ['Joined an existing payout', state.joined],
    ['Need attention', state.needingAttention],
  ])}${counted.length > 0 && table({ caption: 'Rows by state', head: ['State', 'Rows'], rows: counted })}${
    listed.length > 0 &&
    facts(listed.map(([outcome, at]) => [`Rows that ended as ${outcome}, from 0`, at.join(', ')]))
  }`;
}

function cancelForm(
  { caller, formToken }: Visit,
  { app, batchId, phase, canceled }: BatchState,
): Html | undefined {
  if (phase === 'DONE' || canceled || !may(caller, 'cancel')) return undefined;
  return html`<h2>Cancel</h2><p>Rows that have not started yet are not started. Payouts that have started continue, except those whose quote the provider refuses: they are canceled.</p>
<form method="post" action="/desk/batches/cancel">${hidden({ formToken, app, batchId })}<button class="danger">Cancel the batch</button></form>`;
}
