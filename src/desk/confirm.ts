/** The page that repeats the payouts that were chosen, or all that wait, before anything is decided. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Caller } from '../config/callers.ts';
import type { ListedPayout } from '../contract/lists.ts';
import { compareMoney, totalsByCurrency } from '../contract/money.ts';
import { inParallel } from '../runtime/runtime.ts';
import { requireAuthority, requireVerb } from '../service/permissions.ts';
import { Problem } from '../service/problem.ts';
import type { PayoutId } from '../service/requests.ts';
import { type Desk, filledIn, getPage, ifKnown } from './context.ts';
import { TOLERANCES } from './decisions.ts';
import {
  beneficiaryOf,
  facts,
  type Html,
  hidden,
  html,
  link,
  money,
  noteField,
  payoutLink,
  sentence,
  totals,
} from './html.ts';
import type { Visit } from './identity.ts';
import { MOST_PICKS, type Picked, pickFields, picksIn, type ReadPayout, readPayout } from './picks.ts';
import { recentPayouts, SIMILAR_DAYS, similarTo } from './similar.ts';
import { ACTS, confirmPath, counted, targetOf, termsTable, type Verb } from './terms.ts';
import { decidableOf, type Narrowed, narrowedIn, readWaiting, waitingIn } from './waiting.ts';

export function confirmRoutes(scope: FastifyInstance, desk: Desk): void {
  for (const verb of ['approve', 'refuse'] as const) {
    getPage(scope, desk, `/payouts/confirm-${verb}`, async (visit, query, reply) => {
      requireVerb(visit.caller, verb);
      const from = originIn(query);
      const page = from.all
        ? await allPage(desk, visit, verb, from)
        : await chosenPage(desk, visit, verb, from, { picks: picksIn(query), reply });
      return { section: 'Inbox', ...page };
    });
  }
}

/** Where the decisions began: the batch to which the inbox was narrowed, and whether it is about all that wait. */
export interface Origin extends Narrowed {
  all?: 'on' | undefined;
}

export function originIn(query: unknown): Origin {
  return { ...narrowedIn(query), ...(filledIn(query, 'all').all !== undefined && { all: 'on' as const }) };
}

/** The page on which everything that waits can be decided together, `MOST_PICKS` at a time. */
export function allLink(verb: Verb, from: Narrowed): string {
  return link(confirmPath(verb), { ...from, all: 'on' });
}

/** Leads there, for so many payouts: `Review all 118 for approval`. */
export function allButton(count: number, from: Narrowed, kind?: 'plain'): Html {
  const which = count > MOST_PICKS ? `${MOST_PICKS} of ${count}` : count === 1 ? 'it' : `all ${count}`;
  return html`<a class="button ${kind}" href="${allLink('approve', from)}">Review ${which} for approval</a>`;
}

export function inboxLink({ batch, app }: Narrowed): string {
  return link('/desk', { batch, app });
}

const ofBatch = ({ batch }: Narrowed) => batch !== undefined && html` in batch <bdi>${batch}</bdi>`;

/** Repeats the chosen payouts as they are now. Those whose terms are no longer those of the list are left out. */
async function chosenPage(
  desk: Desk,
  visit: Visit,
  verb: Verb,
  from: Origin,
  { picks, reply }: { picks: readonly Picked[]; reply: FastifyReply },
) {
  const waiting = await ifKnown(waitingIn(desk, visit, 'approvals', from));
  const listed = new Map(waiting?.listed.map((one) => [payoutLink(one), one]));
  const chosen = await inParallel(picks, async (one) =>
    asShown(desk, visit.caller, verb, one).catch((error: unknown) => ({
      id: one,
      why: desk.toProblem(error, reply.request).message,
    })),
  );
  return confirmPage(desk, visit, verb, {
    from,
    payouts: chosen
      .filter((one) => 'state' in one)
      .map((one) => {
        const { startedAt, batch } = listed.get(payoutLink(one)) ?? {};
        return { ...one, ...(startedAt !== undefined && { startedAt }), batch };
      }),
    leftOut: chosen.filter((one) => 'why' in one),
  });
}

/** All that wait for the visitor, the oldest first. The form binds each decision to the terms that this page shows. */
async function allPage(desk: Desk, visit: Visit, verb: Verb, from: Origin) {
  const { listed, isCut } = await waitingIn(desk, visit, 'approvals', from);
  const decidable = decidableOf(visit, listed);
  const { shown, unread, gone } = await readWaiting(desk, visit, 'approvals', {
    listed: decidable,
    most: MOST_PICKS,
  });
  const checked = shown.map((one) => {
    const why = refusalOf(visit.caller, verb, one);
    return why === undefined ? one : { id: one, why };
  });
  const after = decidable.length - gone - shown.length - unread.length;
  return confirmPage(desk, visit, verb, {
    from,
    payouts: checked.filter((one) => 'state' in one),
    leftOut: [
      ...checked.filter((one) => 'why' in one),
      ...unread.map((id) => ({ id, why: 'it cannot be read now' })),
    ],
    about: html`<p>${after > 0 ? `${shown.length} of the ${decidable.length - gone}${isCut ? '+' : ''}` : `All ${shown.length}`} that await a decision of yours${ofBatch(from)}, the oldest first.${after > 0 && ` The next ${Math.min(after, MOST_PICKS)} come after these.`}</p>`,
  });
}

interface Confirmed {
  from: Origin;
  payouts: readonly ReadPayout[];
  leftOut: readonly { id: PayoutId; why: string }[];
  about?: Html;
}

const MOST_LEFT_OUT = 20;

async function confirmPage(
  desk: Desk,
  visit: Visit,
  verb: Verb,
  { from, payouts, leftOut, about }: Confirmed,
) {
  const recent = await recentPayouts(desk, visit.caller);
  const more = leftOut.length - MOST_LEFT_OUT;
  return {
    title: payouts.length === 0 ? `Nothing to ${verb}` : `${ACTS[verb][0]} ${counted(payouts.length)}?`,
    content: html`${payouts.length > 0 && html`${sumsOf(payouts)}${about}`}${duplicates(payouts, recent)}${
      leftOut.length > 0 &&
      html`<div class="warning" role="alert"><p>Left out:</p><ul>${leftOut.slice(0, MOST_LEFT_OUT).map(({ id, why }) => html`<li><a href="${payoutLink(id, 'inbox')}">${id.partnerOrderId}</a>: ${sentence(why)}.</li>`)}</ul>${more > 0 && html`<p>And ${more} more.</p>`}</div>`
    }${payouts.length > 0 && html`${confirmForm(visit, verb, payouts, from)}${termsTable(payouts, { recent, nowMs: desk.runtime.clock.wallMs(), areOfOneBatch: from.batch !== undefined })}`}
<p><a class="button plain" href="${inboxLink(from)}">Back to the inbox</a></p>`,
  };
}

/** Why the caller may not decide it. Undefined if the caller may. */
function refusalOf(caller: Caller, verb: Verb, payout: ReadPayout): string | undefined {
  try {
    requireAuthority(caller, verb, payout);
    return undefined;
  } catch (error) {
    if (error instanceof Problem) return error.message;
    throw error;
  }
}

/** The payout, if its quote is still the one that was chosen and the caller may decide. Otherwise why it is left out. */
export async function asShown(
  { service }: Desk,
  caller: Caller,
  verb: Verb,
  { lockRateId, ...id }: Picked,
): Promise<ReadPayout | { id: PayoutId; why: string }> {
  const payout = await readPayout(service, caller, id);
  requireAuthority(caller, verb, payout);
  const { phase, quote, stale } = payout.state;
  if (stale) return { id, why: 'no worker responds, so it cannot be read now' };
  if (phase !== 'AWAITING_APPROVAL') return { id, why: 'it does not wait for approval any more' };
  if (quote?.lockRateId !== lockRateId) return { id, why: 'its quote has changed: choose it again' };
  return payout;
}

function duplicates(payouts: readonly ReadPayout[], recent: readonly ListedPayout[]): Html | undefined {
  const found = payouts.flatMap((one) => {
    const similar = similarTo(recent, one);
    return similar.length > 0 ? [{ one, similar }] : [];
  });
  if (found.length === 0) return undefined;
  return html`<div class="warning" role="alert"><p>Possible duplicates: the same beneficiary got, or is to get, the same amount in the last ${SIMILAR_DAYS} days.</p>
<ul>${found.map(
    ({ one, similar }) =>
      html`<li><a href="${payoutLink(one, 'inbox')}">${one.partnerOrderId}</a>, ${money(targetOf(one))}: like ${similar.map((other, at) => html`${at > 0 && ', '}<a href="${payoutLink(other, 'inbox')}">${other.partnerOrderId}</a>`)}</li>`,
  )}</ul></div>`;
}

function sumsOf(payouts: readonly ReadPayout[]): Html {
  const targets = payouts.map(targetOf);
  const largest = totalsByCurrency(targets).map(({ currency }) =>
    payouts
      .filter((one) => targetOf(one).currency === currency)
      .reduce((most, one) => (compareMoney(targetOf(one), targetOf(most)) > 0 ? one : most)),
  );
  return html`<p class="headline">${totals(targets)}</p>${facts([
    ['Payouts', String(payouts.length)],
    [
      'Largest amount',
      html`<span class="wide">${largest.map((one, at) => html`${at > 0 && ', '}${money(targetOf(one))} to ${beneficiaryOf(one.request.receiver)}`)}</span>`,
    ],
    ['Payers pay', totals(payouts.flatMap(({ state }) => state.quote?.pay ?? []))],
    ['Fees', totals(payouts.flatMap(({ state }) => state.quote?.fee ?? []))],
  ])}`;
}

function confirmForm(
  { formToken }: Visit,
  verb: Verb,
  payouts: readonly ReadPayout[],
  { batch, app, all }: Origin,
): Html {
  const [act, , kind] = ACTS[verb];
  return html`<form method="post" action="/desk/payouts/${verb}-chosen" class="bulk">${hidden({ formToken, batch, app, all, ...pickFields(payouts) })}
<div>${noteField('note', 'note', 'Note')}</div>
${
  verb === 'approve' &&
  html`<div><label for="tolerance">After a lock expires, approve a quote</label><select id="tolerance" name="tolerance"><option value="">no worse than shown</option>${TOLERANCES.map(
    (percent) => html`<option value="${percent}">up to ${percent} % worse</option>`,
  )}</select></div>`
}
<div class="buttons"><button class="${kind}">${act} ${counted(payouts.length)}</button></div></form>`;
}
