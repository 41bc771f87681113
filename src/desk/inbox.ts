/** `/desk`: what waits for an approver or operator, and the stop switch of each application. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { PayoutStart } from '../client/payouts.ts';
import type { Caller } from '../config/callers.ts';
import { appName, text } from '../contract/fields.ts';
import type { PayoutState } from '../contract/payout.ts';
import { MAX_REASON_LENGTH } from '../domain/rate-limit.ts';
import { applicationsWithin, may } from '../service/permissions.ts';
import { type PayoutId, valid } from '../service/requests.ts';
import type { Service } from '../service/service.ts';
import { attentionCards, type CardPage } from './attention.ts';
import {
  type Desk,
  filledIn,
  getPage,
  PAYOUTS_PER_PAGE,
  postForm,
  readable,
  redirectWith,
} from './context.ts';
import { approvalForm } from './decisions.ts';
import {
  beneficiaryFacts,
  duration,
  facts,
  type Html,
  hidden,
  html,
  isolated,
  link,
  money,
  noteField,
  payoutLink,
  time,
} from './html.ts';
import type { Visit } from './identity.ts';

export function inboxRoutes(scope: FastifyInstance, desk: Desk): void {
  pauseRoutes(scope, desk);
  getPage(scope, desk, '/', async (visit, query) => {
    const cursors = filledIn(query, 'approvals', 'reviews', 'attention');
    const { caller } = visit;
    const nowMs = desk.runtime.clock.wallMs();
    const [approvals, reviews, attention] = await Promise.all([
      openPayouts(desk, caller, 'AWAITING_APPROVAL', cursors.approvals),
      openPayouts(desk, caller, 'NEEDS_REVIEW', cursors.reviews),
      attentionCards(desk, caller, cursors.attention),
    ]);
    const awaiting = {
      ...approvals,
      shown: approvals.shown.map((one) => approvalCard(visit, one, nowMs)),
    };
    const reviewed = { ...reviews, shown: reviews.shown.map(reviewCard) };
    return {
      title: 'Inbox',
      section: 'Inbox',
      content: html`${section('approvals', 'Awaiting approval', 'No payout awaits approval.', awaiting)}
${section('reviews', 'Reviews', 'No payout is in review.', reviewed)}
${section('attention', 'Needs attention', 'Nothing needs attention.', attention)}${pauseForms(visit)}`,
    };
  });
}

function section(id: string, title: string, none: string, { shown, unread, nextCursor }: CardPage): Html {
  return html`<section aria-labelledby="${id}"><h2 id="${id}">${title}</h2>
${shown.length + unread.length === 0 && html`<p class="faint">${none}</p>`}
${shown.length > 0 && html`<ul class="cards">${shown.map((card) => html`<li class="card">${card}</li>`)}</ul>`}
${
  unread.length > 0 &&
  html`<p class="warning">These could not be read now, because Temporal or a worker does not respond:</p><ul>${unread.map((one) => html`<li>${one}</li>`)}</ul>`
}
${nextCursor !== undefined && html`<p><a href="${link('/desk', { [id]: nextCursor })}#${id}">Show more</a></p>`}</section>`;
}

function approvalCard(visit: Visit, payout: ReadPayout, nowMs: number): Html {
  const { request, startedBy, state } = payout;
  const { quote, lockExpiresAt, approvalExpiresAt } = state;
  const { receiver } = request;
  return html`<h3><a href="${payoutLink(payout)}">${payout.partnerOrderId}</a></h3>
<p class="headline">${money(quote?.target ?? request.instructedAmount)} to ${isolated(receiver.bankAccountName)}</p>
${facts([
  ...beneficiaryFacts(receiver),
  ['Payer pays', money(quote?.pay)],
  ['Rate', quote?.exchangeRate],
  ['Fee', money(quote?.fee)],
  ['Rate locked for', timeLeft(lockExpiresAt, nowMs)],
  ['Approve until', time(approvalExpiresAt)],
  ['Started by', startedBy ?? 'not recorded'],
  ['Application', payout.app],
])}${approvalForm(visit, payout, 'inbox')}`;
}

function timeLeft(until: string | undefined, nowMs: number): Html | undefined {
  if (until === undefined) return undefined;
  const leftMs = Date.parse(until) - nowMs;
  if (leftMs <= 0) return html`Rate lock expired. Approving requests a new quote within your limits.`;
  return html`${duration(leftMs)} (until ${time(until)})`;
}

function reviewCard({ request, state, ...id }: ReadPayout): Html {
  return html`<h3><a href="${payoutLink(id)}">${id.partnerOrderId}</a></h3>
<p class="headline">${money(request.instructedAmount)} to ${isolated(request.receiver.bankAccountName)}</p>
<p>${state.sentence}</p>
<p><a class="button" href="${payoutLink(id)}#review">Review the evidence <span class="visually-hidden">of ${id.partnerOrderId}</span></a></p>`;
}

/** One form for each application that is not paused. Undefined if there is none, or the caller may not pause. */
function pauseForms({ caller, formToken, pauses = [] }: Visit): Html | undefined {
  const running = pauses.filter(({ paused }) => !paused);
  if (running.length === 0 || !may(caller, 'pause')) return undefined;
  return html`<section aria-labelledby="pause"><h2 id="pause">Stop all create calls</h2>
<p>While an application is paused, no order and no receiving account is created. Queries continue.</p>
<ul class="cards">${running.map(
    ({ app }) => html`<li class="card"><form method="post" action="/desk/pause">${hidden({ formToken, app })}
${noteField(`pause-${app}`, 'reason', `Reason to pause ${app}`, MAX_REASON_LENGTH)}
<div class="buttons"><button class="danger">Pause ${app}</button></div></form></li>`,
  )}</ul></section>`;
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

interface ReadPayout extends PayoutId, PayoutStart {
  state: PayoutState;
}

/**
 * A page of the open payouts in `phase`. Visibility lags, and does not know whose a payout is, so each is read: payouts
 * outside the scope of the caller, or no longer in the phase, are left out.
 */
async function openPayouts(
  { service }: Desk,
  caller: Caller,
  phase: 'AWAITING_APPROVAL' | 'NEEDS_REVIEW',
  cursor: string | undefined,
) {
  const { payouts, withTemporalDeadline } = service;
  const { payouts: listed, nextCursor } = await withTemporalDeadline(() =>
    payouts.listPage({ phase, apps: applicationsWithin(caller) }, { limit: PAYOUTS_PER_PAGE, cursor }),
  );
  const read = await Promise.all(
    listed
      .filter(({ workflow }) => workflow === 'RUNNING')
      .map(({ app, partnerOrderId }) => {
        const id = { app, partnerOrderId };
        return readable(caller, () => readPayout(service, caller, id), id);
      }),
  );
  const known = read.filter((one) => one !== undefined);
  return {
    shown: known.filter((one) => 'state' in one).filter(({ state }) => state.phase === phase),
    unread: known
      .filter((one) => !('state' in one))
      .map((id) => html`<a href="${payoutLink(id)}">${id.partnerOrderId}</a>`),
    nextCursor,
  };
}

async function readPayout(service: Service, caller: Caller, id: PayoutId): Promise<ReadPayout> {
  const start = await service.payoutStart(caller, id);
  return { ...id, ...start, state: await service.withTemporalDeadline(() => service.payouts.state(id)) };
}
