/** `/desk/batch`: the progress of a batch, what people have to do about it, and its payouts. */
import type { FastifyInstance } from 'fastify';
import type { BatchState } from '../contract/batch.ts';
import { PHASES, ROW_OUTCOMES } from '../contract/codes.ts';
import type { ListedPayout } from '../contract/lists.ts';
import { sumMoney, totalsByCurrency } from '../contract/money.ts';
import { mayList } from '../domain/permissions.ts';
import { may } from '../service/permissions.ts';
import { batchRef } from '../service/requests.ts';
import { STARTED_AT } from '../temporal/namespace.ts';
import { batchBar, countsText } from './batch-progress.ts';
import { type Desk, filledIn, getPage, idIn, ifKnown, postForm, redirectWith } from './context.ts';
import { facts, groupedAmount, type Html, hidden, html, label, link, money, pill, totals } from './html.ts';
import { AUTOMATIC, type Visit } from './identity.ts';
import { payoutTable } from './payouts.ts';
import { resultsLinks } from './statement.ts';

const REFRESH_SECONDS = 3;
const SHOWN_PAYOUTS = 100;

export function batchRoutes(scope: FastifyInstance, desk: Desk): void {
  getPage(scope, desk, '/batch', async (visit, query, reply) => {
    const id = idIn(batchRef, query);
    const state = await desk.service.batch(visit.caller, id);
    const isLive = state.phase !== 'DONE' && filledIn(query, 'live').live !== 'off';
    // Without scripts, the browser loads the page again.
    if (isLive)
      reply.header('refresh', `${REFRESH_SECONDS};url=${link('/desk/batch', { ...id, ...AUTOMATIC })}`);
    const payouts = await payoutsOf(desk, visit, state);
    return {
      title: `Batch ${id.batchId}`,
      section: 'Batches',
      actions: resultsLinks(id),
      content: html`${progress(state, payouts)}${todo(desk, state)}${state.phase !== 'DONE' && liveLink(state, isLive)}${states(state, payouts)}${rowFacts(state)}${listOf(payouts)}${cancelForm(visit, state)}`,
    };
  });

  postForm(scope, desk, { path: '/batches/cancel', verb: 'cancel' }, async (visit, fields, reply) => {
    const id = idIn(batchRef, fields);
    await desk.service.cancelBatch(visit.caller, id);
    return redirectWith(reply, link('/desk/batch', id), { done: 'cancel', id: id.batchId });
  });
}

/** Payouts that the batch has started, as lists know them: they lag by some seconds. Empty if they cannot be read. */
async function payoutsOf(
  { service }: Desk,
  { caller }: Visit,
  { app, batchId }: BatchState,
): Promise<ListedPayout[]> {
  if (!mayList(caller)) return [];
  const read = async () => {
    const { startTime, typedSearchAttributes } = await service.withTemporalDeadline(() =>
      service.batches.handle({ app, batchId }).describe(),
    );
    const startedAt = typedSearchAttributes.get(STARTED_AT) ?? startTime;
    return service.startedByBatches(caller, [{ app, batchId, startedAt: startedAt.toISOString() }]);
  };
  const found = await ifKnown(read());
  return found?.payouts.filter((one) => one.app === app) ?? [];
}

function progress(state: BatchState, payouts: readonly ListedPayout[]): Html {
  const { count, done, outcomes, phase, sentence } = state;
  const finished = countsText(ROW_OUTCOMES.map((outcome) => [outcome, outcomes[outcome]]));
  const said = phase === 'DONE' ? finished : sentence;
  const bars = html`<p>${batchBar({ count, done, paid: outcomes.SUCCESS })}</p>`;
  if (payouts.length === 0) return html`<p class="headline" role="status">${said}</p>${bars}`;
  const returned = payouts.flatMap((one) => one.returned ?? []);
  const known = payouts.length < count && html` <small>in ${payouts.length} of ${count} rows</small>`;
  return html`<p class="headline">${paidOf(payouts)} paid${returned.length > 0 && html`, ${totals(returned)} returned`}${known}</p><p role="status">${said}</p>${bars}`;
}

/** `12,250.00 of 22,725.00 CNY`, of each currency. What came back is not paid. */
function paidOf(payouts: readonly ListedPayout[]): Html {
  const ordered = totalsByCurrency(payouts.flatMap(({ instructedAmount }) => instructedAmount ?? []));
  const received = payouts.flatMap((one) => one.received ?? []);
  return html`${ordered.map((total, at) => {
    const paid = sumMoney(
      total.currency,
      received.filter(({ currency }) => currency === total.currency),
    );
    return html`${at > 0 && ', '}<span class="amount">${groupedAmount(paid.amount)} of ${money(total)}</span>`;
  })}`;
}

/** Links to what waits for people. Without search keys, the list is that of all batches. */
function todo({ config }: Desk, { app, batchId, phases, phase, canceled, nextStep }: BatchState): Html {
  const waiting = [
    ['AWAITING_APPROVAL', 'awaits approval', 'await approval'],
    ['NEEDS_REVIEW', 'needs review', 'need review'],
  ] as const;
  const items = waiting.flatMap(([named, one, several]) => {
    const count = phases[named] ?? 0;
    const query = { ...(config.keys.search ? { batch: batchId } : { app }), phase: named };
    const text = count === 1 ? `1 payout ${one}` : `${count} payouts ${several}`;
    return count === 0 ? [] : [html`<p><a href="${link('/desk/payouts', query)}">${text}</a></p>`];
  });
  const isWaiting = phase === 'RECEIVING' || (canceled && phase !== 'DONE');
  return html`${items}${isWaiting && html`<p>${nextStep}</p>`}`;
}

function liveLink({ app, batchId }: BatchState, isLive: boolean): Html {
  return isLive
    ? html`<p class="faint">Refreshing every ${REFRESH_SECONDS} seconds. <a href="${link('/desk/batch', { app, batchId, live: 'off' })}">Pause</a></p>`
    : html`<p><a href="${link('/desk/batch', { app, batchId })}">Follow the progress</a></p>`;
}

/** The number and the sum of the rows in each state. Without the sum if lists do not know all of these rows. */
function states({ phases, outcomes }: BatchState, payouts: readonly ListedPayout[]): Html | undefined {
  const counted = [
    ...PHASES.map((phase) => [phase, phases[phase], ofPhase(payouts, phase)] as const),
    ...ROW_OUTCOMES.map((outcome) => {
      return [outcome, outcomes[outcome], payouts.filter((one) => one.outcome === outcome)] as const;
    }),
  ].filter(([, count]) => count !== undefined && count > 0);
  if (counted.length === 0) return undefined;
  return html`<ul class="states" aria-label="Rows by state">${counted.map(([code, count, known]) => {
    const amounts = known.flatMap(({ instructedAmount }) => instructedAmount ?? []);
    return html`<li>${pill(code)} <strong>${count}</strong> ${amounts.length === count && totals(amounts)}</li>`;
  })}</ul>`;
}

const ofPhase = (payouts: readonly ListedPayout[], phase: string) =>
  payouts.filter((one) => one.phase === phase && one.outcome === '');

function rowFacts({ app, count, added, started, joined, needingAttention, rows }: BatchState): Html {
  const listed = Object.entries(rows).filter(([, at]) => at.length > 0);
  return facts([
    ['Application', app === 'default' ? undefined : app],
    ['Rows', count],
    ['Added', added === count ? undefined : added],
    ['Started', started],
    ['Joined an existing payout', joined || undefined],
    ['Need attention', needingAttention || undefined],
    ...listed.map(([outcome, at]) => {
      const numbers = at.map((row) => row + 1).join(', ');
      return [`${label(outcome)}: rows, the first is 1`, numbers] as const;
    }),
  ]);
}

function listOf(payouts: readonly ListedPayout[]): Html | undefined {
  if (payouts.length === 0) return undefined;
  const shown = payouts.slice(0, SHOWN_PAYOUTS);
  const sums = totals(shown.flatMap(({ instructedAmount }) => instructedAmount ?? []));
  return payoutTable(
    shown,
    html`${sums}${payouts.length > shown.length && html`, the first ${shown.length} payouts`}`,
  );
}

function cancelForm(
  { caller, formToken }: Visit,
  { app, batchId, phase, canceled }: BatchState,
): Html | undefined {
  if (phase === 'DONE' || canceled || !may(caller, 'cancel')) return undefined;
  return html`<h2>Cancel</h2><p>Stops rows that haven't started. Payouts in progress continue, except those whose quote the provider refuses: they are canceled.</p>
<form method="post" action="/desk/batches/cancel">${hidden({ formToken, app, batchId })}<button class="danger">Cancel the batch</button></form>`;
}
