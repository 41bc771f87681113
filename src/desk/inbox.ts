/** `/desk`: what waits for an approver or operator, and the stop switch of each application. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { PayoutStart } from '../client/payouts.ts';
import type { Caller } from '../config/callers.ts';
import { appName, text } from '../contract/fields.ts';
import type { ListedPayout } from '../contract/lists.ts';
import type { PayoutState } from '../contract/payout.ts';
import { isStarter } from '../domain/permissions.ts';
import { MAX_REASON_LENGTH } from '../domain/rate-limit.ts';
import { applicationsWithin, may } from '../service/permissions.ts';
import { type PayoutId, valid } from '../service/requests.ts';
import type { Service } from '../service/service.ts';
import { ATTENTION_HEAD, attentionRows, type RowPage } from './attention.ts';
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
import { decisionBar, mayDecide, pickOf } from './decisions.ts';
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
  pill,
  sentence,
  table,
  time,
  timeLeft,
  totals,
} from './html.ts';
import type { Visit } from './identity.ts';
import { recentPayouts, similarTo } from './similar.ts';

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

/** Each checkbox names the quote of its row: a decision about the row applies to no other one. */
function approvalList(
  visit: Visit,
  payouts: readonly ReadPayout[],
  { nowMs, recent }: { nowMs: number; recent: readonly ListedPayout[] },
): Html {
  const decidable = payouts.filter((one) => mayDecide(visit, one));
  return html`<form method="post" action="/desk/payouts/approve-chosen" class="chooses">${table({
    caption: html`${payouts.length} ${payouts.length === 1 ? 'payout' : 'payouts'}: ${totals(payouts.map(targetOf))}`,
    sorts: true,
    head: [
      'Payout',
      'Beneficiary',
      'Amount#',
      'Payer pays#',
      'Fee#',
      'Rate#',
      'Rate locked for',
      'Started by',
    ],
    rows: payouts.map((one) => {
      const { request, startedBy, state } = one;
      return [
        html`<span class="choice">${decidable.includes(one) && checkbox(one, decidable.indexOf(one))}<span><a href="${payoutLink(one)}">${one.partnerOrderId}</a>${state.reasons.map(({ code }) => html` ${pill(code, 'bad')}`)}${similarTo(recent, one).length > 0 && html` ${pill('PAID_TWICE?', 'warn')}`}</span></span>`,
        beneficiaryOf(request.receiver),
        money(targetOf(one)),
        money(state.quote?.pay),
        money(state.quote?.fee),
        state.quote?.exchangeRate,
        timeLeft(state.lockExpiresAt, nowMs),
        isStarter(visit.caller, startedBy)
          ? html`${startedBy}<small>You or your key: someone else has to approve it.</small>`
          : (startedBy ?? 'not recorded'),
      ];
    }),
  })}${decidable.length > 0 && decisionBar(visit)}</form>`;
}

const targetOf = ({ request, state }: ReadPayout) => state.quote?.target ?? request.instructedAmount;

function checkbox(one: ReadPayout, at: number): Html {
  const { currency, amount } = targetOf(one);
  return html`<input type="checkbox" name="${`pick-${at}`}" value="${pickOf(one)}" aria-label="Choose ${one.partnerOrderId}" data-amount="${amount}" data-currency="${currency}">`;
}

function reviewList(payouts: readonly ReadPayout[]): Html {
  return table({
    caption: html`${payouts.length} ${payouts.length === 1 ? 'payout' : 'payouts'}: ${totals(payouts.map(targetOf))}`,
    sorts: true,
    head: ['Payout', 'Beneficiary', 'Amount#', 'What to decide', 'Sent#', 'Provider last asked', 'Action#'],
    rows: payouts.map(({ request, state, ...id }) => [
      html`<a href="${payoutLink(id)}">${id.partnerOrderId}</a>`,
      beneficiaryOf(request.receiver),
      money(request.instructedAmount),
      sentence(state.sentence),
      state.sends,
      time(state.lastAskedAt),
      html`<a class="button plain" href="${payoutLink(id)}#review">Review <span class="visually-hidden">${id.partnerOrderId}</span></a>`,
    ]),
  });
}

/** One form for each application that is not paused. Undefined if there is none, or the caller may not pause. */
function pauseForms({ caller, formToken, pauses = [] }: Visit): Html | undefined {
  const running = pauses.filter(({ paused }) => !paused);
  if (running.length === 0 || !may(caller, 'pause')) return undefined;
  return html`<details><summary>Stop all create calls</summary>
<p>While an application is paused, no order and no receiving account is created. Queries continue.</p>
${running.map(
  ({ app }) => html`<div class="card"><form method="post" action="/desk/pause">${hidden({ formToken, app })}
${noteField(`pause-${app}`, 'reason', `Reason to pause ${app}`, MAX_REASON_LENGTH)}
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
  return { ...id, ...start, state: await service.readStatus(caller, () => service.payouts.state(id)) };
}
