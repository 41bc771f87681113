/** `/desk`: what waits for an approver or operator, and the stop switch of each application. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Caller } from '../config/callers.ts';
import { appName, text } from '../contract/fields.ts';
import type { ListedPayout } from '../contract/lists.ts';
import { isStarter } from '../domain/permissions.ts';
import { MAX_REASON_LENGTH } from '../domain/rate-limit.ts';
import { applicationsWithin, may } from '../service/permissions.ts';
import { valid } from '../service/requests.ts';
import { ATTENTION_HEAD, attentionRows, type RowPage } from './attention.ts';
import { choiceOf, decisionBar, type ReadPayout, readPayout, targetOf, termsTable } from './confirm.ts';
import {
  type Desk,
  filledIn,
  getPage,
  PAYOUTS_PER_PAGE,
  postForm,
  readable,
  redirectWith,
} from './context.ts';
import { INBOX, INBOX_SECTIONS, type InboxSection } from './counts.ts';
import { mayDecide } from './decisions.ts';
import {
  beneficiaryOf,
  empty,
  type Html,
  hidden,
  html,
  link,
  money,
  noteField,
  payoutLink,
  sentence,
  table,
  time,
  totals,
} from './html.ts';
import type { Visit } from './identity.ts';
import { recentPayouts } from './similar.ts';

export function inboxRoutes(scope: FastifyInstance, desk: Desk): void {
  pauseRoutes(scope, desk);
  getPage(scope, desk, '/', async (visit, query) => {
    const cursors = filledIn(query, ...INBOX_SECTIONS);
    const { caller } = visit;
    const nowMs = desk.runtime.clock.wallMs();
    const [approvals, reviews, attention, recent] = await Promise.all([
      openPayouts(desk, caller, 'approvals', cursors.approvals),
      openPayouts(desk, caller, 'reviews', cursors.reviews),
      attentionRows(desk, caller, cursors.attention),
      recentPayouts(desk, caller),
    ]);
    return {
      title: 'Inbox',
      section: 'Inbox',
      content: html`${section('approvals', 'No payout awaits approval', approvals, () => approvalList(visit, approvals.shown, { nowMs, recent }))}
${section('reviews', 'No payout is in review', reviews, () => reviewList(reviews.shown))}
${section('attention', 'Nothing else needs attention', attention, () =>
  table({ caption: 'Payouts, tokens, endpoints and workflows', head: ATTENTION_HEAD, rows: attention.shown }),
)}${pauseForms(visit)}`,
    };
  });
}

function section(
  id: InboxSection,
  none: string,
  { shown, unread, nextCursor }: RowPage<unknown>,
  list: () => Html,
): Html {
  return html`<section aria-labelledby="${id}"><h2 id="${id}">${INBOX[id].title}</h2>
${shown.length > 0 ? list() : unread.length === 0 && empty(none, nextCursor !== undefined && 'on this page')}
${
  unread.length > 0 &&
  html`<div class="warning"><p>These could not be read now, because Temporal or a worker does not respond:</p><ul>${unread.map((one) => html`<li>${one}</li>`)}</ul></div>`
}
${nextCursor !== undefined && html`<p><a class="button plain" href="${link('/desk', { [id]: nextCursor })}#${id}">Show more</a></p>`}</section>`;
}

/** Each checkbox names the quote of its row: a decision about the row applies to no other one. Own payouts come last. */
function approvalList(
  visit: Visit,
  payouts: readonly ReadPayout[],
  beside: { nowMs: number; recent: readonly ListedPayout[] },
): Html {
  const decidable = payouts.filter((one) => mayDecide(visit, one));
  const others = payouts.filter((one) => !decidable.includes(one));
  const choice = (one: ReadPayout) => decidable.includes(one) && choiceOf(one, decidable.indexOf(one));
  const own = others.filter(({ startedBy }) => isStarter(visit.caller, startedBy)).length;
  return html`${own > 0 && html`<p class="faint">You or your key started ${own} of ${payouts.length}: someone else has to approve ${own === 1 ? 'it' : 'them'}.</p>`}
<form class="chooses">${termsTable([...decidable, ...others], { ...beside, choice })}${decidable.length > 0 && decisionBar(visit)}</form>`;
}

function reviewList(payouts: readonly ReadPayout[]): Html {
  return table({
    caption: html`${payouts.length} ${payouts.length === 1 ? 'payout' : 'payouts'}: ${totals(payouts.map(targetOf))}`,
    sorts: true,
    kind: 'reviews',
    head: ['Payout', 'Beneficiary', 'Amount#', 'What to decide', 'Sent#', 'Provider last asked', 'Action#'],
    rows: payouts.map(({ request, state, ...id }) => [
      html`<a href="${payoutLink(id, 'inbox')}">${id.partnerOrderId}</a>`,
      beneficiaryOf(request.receiver),
      money(request.instructedAmount),
      sentence(state.sentence),
      state.sends,
      time(state.lastAskedAt),
      html`<a class="button plain" href="${payoutLink(id, 'inbox')}#review">Review <span class="visually-hidden">${id.partnerOrderId}</span></a>`,
    ]),
  });
}

/** One form for each application that is not paused. Undefined if there is none, or the caller may not pause. */
function pauseForms({ caller, formToken, pauses = [] }: Visit): Html | undefined {
  const running = pauses.filter(({ paused }) => !paused);
  if (running.length === 0 || !may(caller, 'pause')) return undefined;
  return html`<details><summary>Stop all new payments</summary>
<p>While an application is paused, no order and no receiving account is created. Queries continue.</p>
${running.map(
  ({ app }) => html`<div class="card"><form method="post" action="/desk/pause">${hidden({ formToken, app })}
${noteField(`pause-${app}`, 'reason', `Reason to pause ${app}`, { maxLength: MAX_REASON_LENGTH })}
<div class="buttons"><button class="danger">Pause ${app}</button></div></form></div>`,
)}</details>`;
}

const pauseForm = z.object({ app: appName, reason: text(MAX_REASON_LENGTH).optional() });

function pauseRoutes(scope: FastifyInstance, desk: Desk): void {
  for (const done of ['pause', 'resume'] as const)
    postForm(scope, desk, { path: `/${done}`, verb: 'pause' }, async ({ caller }, fields, reply) => {
      const { app, reason } = valid(pauseForm, filledIn(fields, 'app', 'reason'));
      if (done === 'pause') await desk.service.pause(caller, app, { reason });
      else await desk.service.resume(caller, app);
      return redirectWith(reply, '/desk', { done, id: app });
    });
}

/**
 * A page of the open payouts in `phase`. Visibility lags, and does not know whose a payout is, so each is read: payouts
 * outside the scope of the caller, or no longer in the phase, are left out.
 */
async function openPayouts(
  { service }: Desk,
  caller: Caller,
  section: 'approvals' | 'reviews',
  cursor: string | undefined,
) {
  const { payouts, withTemporalDeadline } = service;
  const { phase } = INBOX[section].filter;
  const { payouts: listed, nextCursor } = await withTemporalDeadline(() =>
    payouts.listPage({ phase, apps: applicationsWithin(caller) }, { limit: PAYOUTS_PER_PAGE, cursor }),
  );
  const read = await Promise.all(
    listed
      .filter(({ workflow }) => workflow === 'RUNNING')
      .map(({ app, partnerOrderId, startedAt }) => {
        const id = { app, partnerOrderId };
        const read = async () => ({ ...(await readPayout(service, caller, id)), startedAt });
        return readable(caller, read, id);
      }),
  );
  const known = read.filter((one) => one !== undefined);
  return {
    shown: known.filter((one) => 'state' in one).filter(({ state }) => state.phase === phase),
    unread: known
      .filter((one) => !('state' in one))
      .map((id) => html`<a href="${payoutLink(id, 'inbox')}">${id.partnerOrderId}</a>`),
    nextCursor,
  };
}
