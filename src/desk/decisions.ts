/** The forms with which approvers and operators decide about a payout, as their permissions allow. */
import type { FastifyInstance } from 'fastify';
import type { PayoutStart } from '../client/payouts.ts';
import type { PayoutState, Terms } from '../contract/payout.ts';
import { coveredTerms } from '../domain/payout-quote.ts';
import { coveredText } from '../domain/payout-state.ts';
import { isStarter } from '../domain/permissions.ts';
import { may } from '../service/permissions.ts';
import { invalidFields } from '../service/problem.ts';
import { DECISION_VERBS, type DecisionVerb, type PayoutId, payoutId } from '../service/requests.ts';
import { type Desk, type Fields, filledIn, idIn, postForm, redirectWith } from './context.ts';
import { type Html, hidden, html, noteField, payoutLink } from './html.ts';
import type { Visit } from './identity.ts';

interface Decided extends PayoutId, Pick<PayoutStart, 'startedBy'> {
  state: PayoutState;
}

/** The percentages that an approver may choose from. The API accepts others too. */
const TOLERANCES = ['0.5', '1', '2', '5'];

/** Approve or refuse, with a note. The decision applies only to the quote that the page shows, and to the range that it names. */
export function approvalForm(
  visit: Visit,
  { app, partnerOrderId, startedBy, state }: Decided,
  from: 'inbox' | 'story',
) {
  const { caller, formToken } = visit;
  const isOwn = isStarter(caller, startedBy);
  const approves = may(caller, 'approve') && !isOwn;
  const refuses = may(caller, 'refuse');
  const fields = { formToken, app, partnerOrderId, from, lockRateId: state.quote?.lockRateId };
  const key = `${app}-${partnerOrderId}`.replace(/[^\w-]/g, (char) => `_${char.charCodeAt(0)}`);
  return html`${isOwn && html`<p class="faint">You or your key started this payout, so someone else has to approve it.</p>`}
${
  (approves || refuses) &&
  html`<form method="post" action="/desk/payouts/${approves ? 'approve' : 'refuse'}">${hidden(fields)}
${noteField(`note-${key}`, 'note', 'Note')}
${approves && state.quote && toleranceChoice(`tolerance-${key}`, state.quote)}
<div class="buttons">${approves && html`<button formaction="/desk/payouts/approve">Approve <span class="visually-hidden">${partnerOrderId}</span></button>`}
${refuses && html`<button class="danger" formaction="/desk/payouts/refuse">Refuse <span class="visually-hidden">${partnerOrderId}</span></button>`}</div></form>`
}
${!approves && !refuses && !isOwn && html`<p class="faint">You don't have permission to approve or refuse.</p>`}`;
}

/** The lock expires before most approvals: the approver chooses how much worse than this one the new quote may be. */
function toleranceChoice(id: string, quote: Terms): Html {
  return html`<label for="${id}">If the lock expires, the approval covers a new quote of</label>
<select id="${id}" name="tolerance"><option value="">${coveredText(quote)}: no worse than this one</option>${TOLERANCES.map(
    (percent) =>
      html`<option value="${percent}">${coveredText(coveredTerms(quote, percent))}: up to ${percent} % more</option>`,
  )}</select>`;
}

export function reviewForm({ formToken }: Visit, { app, partnerOrderId, state }: Decided): Html {
  const { sends, reviewedOrderIds = [] } = state;
  const fields = {
    formToken,
    app,
    partnerOrderId,
    sends: sends?.toString(),
    ...(reviewedOrderIds.length > 0 && { reviewedOrderIds: JSON.stringify(reviewedOrderIds) }),
  };
  return html`<form method="post" action="/desk/payouts/resolve">${hidden(fields)}
<fieldset><legend>Does the order exist at the provider?</legend>
<label class="choice"><input type="radio" name="decision" value="created" required> Yes. The provider has this order:</label>
<label for="orderId">Order id</label>
<input id="orderId" name="orderId" maxlength="128" autocomplete="off"${
    reviewedOrderIds.length === 1 && html` value="${reviewedOrderIds[0]}"`
  }>${
    reviewedOrderIds.length > 0 &&
    html`
<label for="tradeOrderId">Its number in the trade queries, if that is another one of these orders <span class="faint">(optional)</span></label>
<input id="tradeOrderId" name="tradeOrderId" maxlength="128" autocomplete="off">`
  }
<label class="choice"><input type="radio" name="decision" value="end" required> No. Close this payout without paying.</label>
<label class="choice"><input type="radio" name="decision" value="retry" required> No. Send the payment again.</label>
</fieldset>
${
  reviewedOrderIds.length > 0 &&
  html`<label class="choice"><input type="checkbox" name="noneIsOurs" value="yes"> With “No”: I have checked that none of these orders belongs to this payout: ${reviewedOrderIds.join(', ')}</label>`
}
<div class="buttons"><button>Resolve</button></div></form>`;
}

export function acknowledgementForm({ formToken }: Visit, { app, partnerOrderId }: PayoutId): Html {
  return html`<form method="post" action="/desk/payouts/acknowledge">${hidden({ formToken, app, partnerOrderId })}
${noteField('acknowledgement', 'note', 'Note')}
<div class="buttons"><button class="plain">Acknowledge the flags</button></div></form>`;
}

/** The phases in which the payout accepts them, but for a race. */
const CANCELED_IN = ['SCHEDULED', 'CHECKING', 'QUOTING', 'AWAITING_APPROVAL', 'PAUSED'];
const POLLED_IN = ['RECONCILING', 'NEEDS_REVIEW', 'PROCESSING', 'FETCHING_DETAIL'];

/** Cancel and poll. Undefined if the payout accepts neither now, or the caller may do neither. */
export function otherForms(visit: Visit, { app, partnerOrderId, state }: Decided): Html | undefined {
  const { caller, formToken } = visit;
  const fields = { formToken, app, partnerOrderId };
  if (POLLED_IN.includes(state.phase) && may(caller, 'poll'))
    return html`<form method="post" action="/desk/payouts/poll">${hidden(fields)}<button class="plain">Query the provider now</button></form>`;
  if (!CANCELED_IN.includes(state.phase) || !may(caller, 'cancel')) return undefined;
  return html`<form method="post" action="/desk/payouts/cancel">${hidden(fields)}
${noteField('reason', 'reason', 'Reason for the cancellation')}
<div class="buttons"><button class="danger">Cancel the payout</button></div></form>`;
}

/** The fields of each form that its decision has. */
const FIELDS = {
  approve: ['note', 'lockRateId', 'tolerance'],
  refuse: ['note', 'lockRateId'],
  cancel: ['reason'],
  acknowledge: ['note'],
} as const;

export function decisionRoutes(scope: FastifyInstance, desk: Desk): void {
  for (const verb of DECISION_VERBS)
    postForm(scope, desk, { path: `/payouts/${verb}`, verb }, async ({ caller }, fields, reply) => {
      const id = idIn(payoutId, fields);
      await desk.service.decide(caller, verb, id, bodyOf(verb, fields));
      const link = payoutLink(id);
      const next = fields['from'] === 'inbox' ? '/desk' : link;
      return redirectWith(reply, next, { done: verb, id: id.partnerOrderId, link });
    });
}

function bodyOf(verb: DecisionVerb, fields: Fields): unknown {
  if (verb === 'poll') return undefined;
  return verb === 'resolve' ? resolutionIn(fields) : filledIn(fields, ...FIELDS[verb]);
}

function resolutionIn(fields: Fields): unknown {
  const { decision, sends, ...ids } = filledIn(fields, 'decision', 'orderId', 'tradeOrderId', 'sends');
  if (decision === 'created') return { created: true, ...ids };
  return {
    created: false,
    then: decision,
    sends: sends && Number(sends),
    reviewedOrderIds: reviewedIn(fields),
  };
}

/** The orders that the page showed, if the operator states that none of them belongs to the payout. */
function reviewedIn({ noneIsOurs, reviewedOrderIds }: Fields): unknown {
  if (noneIsOurs !== 'yes' || reviewedOrderIds === undefined) return undefined;
  try {
    return JSON.parse(reviewedOrderIds);
  } catch {
    throw invalidFields([{ path: 'reviewedOrderIds', message: 'is not a list' }]);
  }
}
