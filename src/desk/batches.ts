/** `/desk/batches`: the list of batches, under the form that uploads one. */
import type { FastifyInstance } from 'fastify';
import { MAX_LISTED } from '../client/lists.ts';
import { OUTCOMES } from '../contract/codes.ts';
import type { ListedBatch, ListedPayout } from '../contract/lists.ts';
import { mayList } from '../domain/permissions.ts';
import { may } from '../service/permissions.ts';
import { batchBar, countsText } from './batch-progress.ts';
import { type Desk, filledIn, getPage } from './context.ts';
import { codeOf, empty, type Html, html, link, pill, table, time, totals } from './html.ts';
import type { Visit } from './identity.ts';
import { uploadForm } from './uploads.ts';

export function batchListRoutes(scope: FastifyInstance, desk: Desk): void {
  getPage(scope, desk, '/batches', async (visit, query) => {
    const { cursor } = filledIn(query, 'cursor');
    return {
      title: 'Batches',
      section: 'Batches',
      content: html`${may(visit.caller, 'batch') && uploadForm(visit, desk.runtime.clock.wallMs())}${await listOf(desk, visit, cursor)}`,
    };
  });
}

/** One call to Temporal for all batches of the page: the memo of a batch has no sums, those of its payouts do. */
async function listOf({ service }: Desk, { caller }: Visit, cursor: string | undefined): Promise<Html> {
  if (!mayList(caller))
    return html`<p class="warning">Your key is limited to clients, payers or users: open batches by their addresses.</p>`;
  const { batches, nextCursor } = await service.listBatches(caller, { cursor });
  if (batches.length === 0)
    return empty(
      cursor === undefined ? 'No batches yet' : 'No batches on this page',
      cursor === undefined && 'Upload a file to start one.',
    );
  const { payouts, isCut } = await service.startedByBatches(caller, batches);
  const rows = batches.map((batch) => {
    const { app, batchId, startedAt, endedAt } = batch;
    const own = payouts.filter((one) => one.batch === batchId && one.app === app);
    return [
      html`<a href="${link('/desk/batch', { app, batchId })}">${batchId}</a>${app !== 'default' && html`<small>${app}</small>`}`,
      own.length,
      own.length > 0 && totals(own.flatMap(({ instructedAmount }) => instructedAmount ?? [])),
      own.length > 0 && paidOf(own),
      statusOf(batch, own),
      time(startedAt),
      endedAt === undefined ? '' : time(endedAt),
    ];
  });
  return html`${table({
    caption: html`Open ones first, newest first. Payouts and amounts are those that each batch has started${isCut && html`, of the first ${MAX_LISTED}: open a batch for all of them`}`,
    sorts: cursor === undefined && nextCursor === undefined ? true : 'part',
    head: ['Batch', 'Payouts#', 'Amount#', 'Progress', 'Status', 'Started', 'Finished'],
    rows,
  })}${nextCursor !== undefined && html`<p><a class="button plain" href="${link('/desk/batches', { cursor: nextCursor })}">Next page</a></p>`}`;
}

const countOf = (payouts: readonly ListedPayout[], code: string) =>
  payouts.filter((one) => codeOf(one) === code).length;
const RETURNED = ['RETURNED', 'PARTLY_RETURNED'];

/** How many have each outcome, or are open. */
function paidOf(payouts: readonly ListedPayout[]): Html {
  const count = payouts.length;
  const open = payouts.filter(({ outcome }) => outcome === '').length;
  const paid = countOf(payouts, 'SUCCESS');
  const counts = [...OUTCOMES, ...RETURNED].map((outcome) => [outcome, countOf(payouts, outcome)] as const);
  return html`${batchBar({ count, done: count - open, paid })}<small>${countsText([...counts, ['open', open]])}</small>`;
}

/** Never green: lists do not know the rows that did not become payouts. */
function statusOf({ workflow }: ListedBatch, payouts: readonly ListedPayout[]): Html | undefined {
  if (workflow !== 'COMPLETED') return pill(workflow);
  const unpaid = payouts.length - countOf(payouts, 'SUCCESS');
  return unpaid === 0
    ? pill(workflow, 'calm')
    : html`${pill(workflow, 'warn')}<small>${unpaid} not paid in full</small>`;
}
