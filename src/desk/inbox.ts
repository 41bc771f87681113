/** `/desk`: what waits for a person. */
import type { FastifyInstance } from 'fastify';
import { attentionSection } from './attention.ts';
import { beneficiaryFacts } from './beneficiary.ts';
import { type Desk, getPage } from './context.ts';
import { approvalForm } from './decision-forms.ts';
import { filledIn } from './forms.ts';
import {
  duration,
  facts,
  type Html,
  html,
  isolated,
  link,
  money,
  type PayoutId,
  payoutLink,
  time,
} from './html.ts';
import type { Visit } from './identity.ts';
import { sendPage } from './layout.ts';
import { openPayouts, type ReadPayout } from './listed.ts';
import { takeNotice } from './notices.ts';
import { pauseForms } from './pauses.ts';

export function inboxRoutes(scope: FastifyInstance, desk: Desk): void {
  getPage(scope, desk, '/', async (visit, request, reply, query) => {
    const cursors = filledIn(query, 'approvals', 'reviews', 'attention');
    const { caller } = visit;
    const [approvals, reviews, attention] = await Promise.all([
      openPayouts(desk, caller, 'AWAITING_APPROVAL', cursors.approvals),
      openPayouts(desk, caller, 'NEEDS_REVIEW', cursors.reviews),
      attentionSection(desk, visit, cursors.attention),
    ]);
    const nowMs = desk.clock.wallMs();
    return sendPage(reply, {
      ...{ title: 'Inbox', visit, section: 'Inbox', notice: takeNotice(request, reply) },
      content: html`<section aria-labelledby="approvals"><h2 id="approvals">Awaiting approval</h2>
${cards(approvals.payouts, 'No payout awaits approval.', (one) => approvalCard(visit, one, nowMs))}
${unread(approvals.unread)}${more('approvals', approvals.nextCursor)}</section>
<section aria-labelledby="reviews"><h2 id="reviews">Reviews</h2>
${cards(reviews.payouts, 'No payout is in review.', reviewCard)}
${unread(reviews.unread)}${more('reviews', reviews.nextCursor)}</section>
<section aria-labelledby="attention"><h2 id="attention">Needs attention</h2>${attention.content}
${more('attention', attention.nextCursor)}</section>${pauseForms(visit)}`,
    });
  });
}

function cards(payouts: readonly ReadPayout[], none: string, card: (one: ReadPayout) => Html): Html {
  if (payouts.length === 0) return html`<p class="faint">${none}</p>`;
  return html`<ul class="cards">${payouts.map((one) => html`<li class="card">${card(one)}</li>`)}</ul>`;
}

function approvalCard(visit: Visit, payout: ReadPayout, nowMs: number): Html {
  const { request, startedBy, state } = payout;
  const { quote, lockExpiresAt, approvalExpiresAt } = state;
  const { receiver } = request;
  return html`<h3><a href="${payoutLink(payout)}">${payout.partnerOrderId}</a></h3>
<p class="amount">${money(quote?.target ?? request.instructedAmount)} to ${isolated(receiver.bankAccountName)}</p>
${facts([
  ...beneficiaryFacts(receiver),
  ['Payer pays', money(quote?.pay)],
  ['Rate', quote?.exchangeRate],
  ['Fee', money(quote?.fee)],
  ['Time left on the lock', timeLeft(lockExpiresAt, nowMs)],
  ['Approve until', time(approvalExpiresAt)],
  ['Started by', startedBy ?? 'not recorded'],
  ['Application', payout.app],
])}${approvalForm(visit, payout, 'inbox')}`;
}

function timeLeft(until: string | undefined, nowMs: number): Html | undefined {
  if (until === undefined) return undefined;
  const leftMs = Date.parse(until) - nowMs;
  if (leftMs <= 0) return html`expired: the payout gets a new quote after the approval`;
  return html`${duration(leftMs)} (until ${time(until)})`;
}

function reviewCard({ request, state, ...id }: ReadPayout): Html {
  return html`<h3><a href="${payoutLink(id)}">${id.partnerOrderId}</a></h3>
<p class="amount">${money(request.instructedAmount)} to ${isolated(request.receiver.bankAccountName)}</p>
<p>${state.sentence}</p>
<p><a class="button" href="${payoutLink(id)}#review">Review the evidence <span class="visually-hidden">of ${id.partnerOrderId}</span></a></p>`;
}

function unread(payouts: readonly PayoutId[]): Html | undefined {
  if (payouts.length === 0) return undefined;
  const links = payouts.map((id) => html`<li><a href="${payoutLink(id)}">${id.partnerOrderId}</a></li>`);
  return html`<p class="warning">These could not be read now, because Temporal or a worker does not respond:</p><ul>${links}</ul>`;
}

function more(section: string, cursor: string | undefined): Html | undefined {
  if (cursor === undefined) return undefined;
  return html`<p><a href="${link('/desk', { [section]: cursor })}#${section}">Show more</a></p>`;
}
