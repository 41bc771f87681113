/** `/desk/batch`: the progress of a batch, what people have to do about it, and its payouts. */
import type { FastifyInstance } from 'fastify';
import type { BatchState } from '../contract/batch.ts';
import { mayList } from '../domain/permissions.ts';
import { may } from '../service/permissions.ts';
import { batchRef } from '../service/requests.ts';
import { batchBar, countsText } from './batch-progress.ts';
import {
  countsIn,
  FINISHED_STATES,
  paidOf,
  payoutsIn,
  type RowsRead,
  readRows,
  returnedIn,
  splitJoined,
  stateChips,
  troubles,
} from './batch-rows.ts';
import { allButton } from './confirm.ts';
import { type Desk, filledIn, getPage, idIn, postForm, redirectWith } from './context.ts';
import { facts, type Html, hidden, html, label, link, totals } from './html.ts';
import { AUTOMATIC, type Visit } from './identity.ts';
import { payoutTable } from './payouts.ts';
import { resultsLinks } from './statement.ts';
import { counted } from './terms.ts';
import { decidableOf } from './waiting.ts';

const REFRESH_SECONDS = 3;
const SHOWN_PAYOUTS = 100;

export function batchRoutes(scope: FastifyInstance, desk: Desk): void {
  getPage(scope, desk, '/batch', async (visit, query, reply) => {
    const id = idIn(batchRef, query);
    const state = await desk.service.batch(visit.caller, id);
    const read = await readRows(desk, visit, state);
    const { areFinished } = countsIn(state, read);
    // Lists may know the last outcomes after the batch does.
    const isOver = state.phase === 'DONE' && (areFinished || read === undefined || read.isSettled);
    const isLive = !isOver && filledIn(query, 'live').live !== 'off';
    // Without scripts, the browser loads the page again.
    if (isLive)
      reply.header('refresh', `${REFRESH_SECONDS};url=${link('/desk/batch', { ...id, ...AUTOMATIC })}`);
    return {
      title: `Batch ${id.batchId}`,
      section: 'Batches',
      actions: resultsLinks(id),
      content: html`${progress(state, read)}${todo(desk, visit, state, read)}${!isOver && liveLink(state, isLive)}${stateChips(state, read)}${rowFacts(state, read)}${read && (await troubles(desk, visit, read.rows))}${read ? listOf(read) : listLink(desk, visit, state)}${cancelForm(visit, state)}`,
    };
  });

  postForm(scope, desk, { path: '/batches/cancel', verb: 'cancel' }, async (visit, fields, reply) => {
    const id = idIn(batchRef, fields);
    await desk.service.cancelBatch(visit.caller, id);
    return redirectWith(reply, link('/desk/batch', id), { done: 'cancel', id: id.batchId });
  });
}

function progress(state: BatchState, read: RowsRead | undefined): Html {
  const { batchId, count, phase, sentence, canceled, missing } = state;
  const { counts, done, paid, areFinished } = countsIn(state, read);
  const known: Readonly<Record<string, number | undefined>> = counts;
  const isOrdinary = phase === 'DONE' || (!canceled && missing.length === 0 && done > 0);
  const isCut = phase === 'DONE' && canceled && (known['notStarted'] ?? 0) > 0;
  const all =
    areFinished && phase === 'DONE'
      ? countsText(FINISHED_STATES.map((outcome) => [outcome, known[outcome]]))
      : isOrdinary
        ? `${done} of ${count} rows have finished.`
        : sentence;
  const said = isCut ? `Canceled: ${all}` : all;
  const bars = html`<p>${batchBar({ count, done, paid })}</p>`;
  if (!read || read.rows.length === 0) return html`<p class="headline" role="status">${said}</p>${bars}`;
  const [own, joined] = splitJoined(read.rows, batchId);
  const returned = returnedIn(own);
  const added = read.rows.length < count && html` <small>in ${read.rows.length} of ${count} rows</small>`;
  return html`<p class="headline">${paidOf(own)} paid${returned.length > 0 && html`, ${totals(returned)} returned`}${added}</p>${
    joined.length > 0 &&
    html`<p>${joined.length === 1 ? '1 row joined an earlier payout' : `${joined.length} rows joined earlier payouts`}, and pays nothing: ${totals(joined.map(({ request }) => request.instructedAmount))}</p>`
  }<p role="status">${said}</p>${bars}`;
}

/** Leads to what waits for people. Without search keys, the list of reviews is that of all batches. */
function todo({ config }: Desk, visit: Visit, state: BatchState, read: RowsRead | undefined): Html {
  const { app, batchId, phase, canceled, nextStep } = state;
  const known: Readonly<Record<string, number | undefined>> = countsIn(state, read).counts;
  const { AWAITING_APPROVAL: approvals = 0, NEEDS_REVIEW: reviews = 0 } = known;
  const inList = (named: string) =>
    link('/desk/payouts', { ...(config.keys.search ? { batch: batchId } : { app }), phase: named });
  const approvalsLink = mayList(visit.caller)
    ? `${link('/desk', { batch: batchId, app })}#approvals`
    : inList('AWAITING_APPROVAL');
  const isWaiting = phase === 'RECEIVING' || (canceled && nextStep !== 'Nothing.');
  return html`${
    approvals > 0 &&
    html`<p class="buttons"><a href="${approvalsLink}">${approvals === 1 ? '1 payout awaits approval' : `${approvals} payouts await approval`}</a>${reviewButton(visit, state, read)}</p>`
  }${
    reviews > 0 &&
    html`<p><a href="${inList('NEEDS_REVIEW')}">${reviews === 1 ? '1 payout needs review' : `${reviews} payouts need review`}</a></p>`
  }${isWaiting && html`<p>${nextStep}</p>`}`;
}

/** Leads to one confirmation of all that the visitor may approve. */
function reviewButton(
  visit: Visit,
  { app, batchId }: BatchState,
  read: RowsRead | undefined,
): Html | undefined {
  if (!may(visit.caller, 'approve')) return undefined;
  const waiting = payoutsIn(read?.rows ?? []).filter(
    ({ phase, outcome, batch }) => phase === 'AWAITING_APPROVAL' && outcome === '' && batch === batchId,
  );
  const { length: count } = decidableOf(visit, waiting);
  return count === 0 ? undefined : allButton(count, { batch: batchId, app });
}

function liveLink({ app, batchId }: BatchState, isLive: boolean): Html {
  return isLive
    ? html`<p class="faint">Refreshing every ${REFRESH_SECONDS} seconds. <a href="${link('/desk/batch', { app, batchId, live: 'off' })}">Pause</a></p>`
    : html`<p><a href="${link('/desk/batch', { app, batchId })}">Follow the progress</a></p>`;
}

/** Without the rows, the numbers of those that aren't paid. */
function rowFacts(
  { app, count, added, joined, needingAttention, rows }: BatchState,
  read: RowsRead | undefined,
): Html {
  const unpaid = read ? [] : Object.entries(rows).filter(([, at]) => at.length > 0);
  return facts([
    ['Application', app === 'default' ? undefined : app],
    ['Rows', count],
    ['Added', added === count ? undefined : added],
    ['Joined an existing payout', joined || undefined],
    ['Need attention', needingAttention || undefined],
    ...unpaid.map(([outcome, at]) => {
      const numbers = at.slice(0, SHOWN_PAYOUTS).map((row) => row + 1);
      const more = at.length - numbers.length;
      return [
        `${label(outcome)} in rows`,
        `${numbers.join(', ')}${more > 0 ? ` and ${more} more` : ''} (the first row is 1)`,
      ] as const;
    }),
  ]);
}

/** Instead of the rows, if they are too many or can't be read. */
function listLink({ config }: Desk, { caller }: Visit, { app, batchId }: BatchState): Html | undefined {
  if (!mayList(caller)) return undefined;
  const query = config.keys.search ? { batch: batchId } : { app };
  return html`<p><a class="button plain" href="${link('/desk/payouts', query)}">Show its payouts</a></p>`;
}

function listOf(read: RowsRead): Html | undefined {
  const payouts = payoutsIn(read.rows);
  if (payouts.length === 0) return undefined;
  const shown = payouts.slice(0, SHOWN_PAYOUTS);
  const sums = totals(shown.flatMap(({ instructedAmount }) => instructedAmount ?? []));
  const { length: all } = payouts;
  const which =
    all > shown.length
      ? `${shown.length} of ${counted(all)}, in the order of the rows. These ${shown.length}`
      : `${counted(all)}${all > 1 ? ', in the order of the rows' : ''}`;
  return payoutTable(shown, html`${which}: ${sums}`);
}

function cancelForm(
  { caller, formToken }: Visit,
  { app, batchId, phase, canceled }: BatchState,
): Html | undefined {
  if (phase === 'DONE' || canceled || !may(caller, 'cancel')) return undefined;
  return html`<h2>Cancel</h2><p>Stops rows that haven't started. Payouts in progress continue, except those whose quote the provider refuses: they are canceled.</p>
<form method="post" action="/desk/batches/cancel">${hidden({ formToken, app, batchId })}<button class="danger">Cancel the batch</button></form>`;
}
