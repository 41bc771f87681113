/** The forms with which approvers and operators decide about a payout, as their permissions allow. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { PayoutStart } from '../client/payouts.ts';
import type { Caller } from '../config/callers.ts';
import type { ListedPayout } from '../contract/lists.ts';
import { compareMoney, totalsByCurrency } from '../contract/money.ts';
import type { PayoutState, Terms } from '../contract/payout.ts';
import { coveredTerms } from '../domain/payout-quote.ts';
import { coveredText } from '../domain/payout-state.ts';
import { isStarter } from '../domain/permissions.ts';
import { inParallel } from '../runtime/runtime.ts';
import { may, requireAuthority } from '../service/permissions.ts';
import { invalidFields, Problem } from '../service/problem.ts';
import { DECISION_VERBS, type DecisionVerb, type PayoutId, payoutId, valid } from '../service/requests.ts';
import type { Service } from '../service/service.ts';
import { type Desk, type Fields, filledIn, idIn, pageVisit, postForm, redirectWith } from './context.ts';
import {
  beneficiaryOf,
  facts,
  type Html,
  hidden,
  html,
  money,
  noteField,
  payoutLink,
  pill,
  sentence,
  table,
  timeLeft,
  totals,
} from './html.ts';
import type { Visit } from './identity.ts';
import { sendPage } from './layout.ts';
import { recentPayouts, similarTo } from './similar.ts';

interface Decided extends PayoutId, Pick<PayoutStart, 'startedBy'> {
  state: PayoutState;
}

type Chosen = 'approve' | 'refuse';
/** The words and the class of the button of each decision about several payouts. */
const ACTS = {
  approve: ['Approve', 'Approved', undefined],
  refuse: ['Refuse', 'Refused', 'danger'],
} as const;

/** The percentages that an approver may choose from. The API accepts others too. */
const TOLERANCES = ['0.5', '1', '2', '5'];

/** Approve or refuse, with a note. The decision applies only to the quote that the page shows, and to the range that it names. */
export function approvalForm(visit: Visit, { app, partnerOrderId, startedBy, state }: Decided) {
  const { caller, formToken } = visit;
  const isOwn = isStarter(caller, startedBy);
  const approves = may(caller, 'approve') && !isOwn;
  const refuses = may(caller, 'refuse');
  const fields = { formToken, app, partnerOrderId, lockRateId: state.quote?.lockRateId };
  return html`${isOwn && html`<p class="faint">You or your key started this payout, so someone else has to approve it.</p>`}
${
  (approves || refuses) &&
  html`<form method="post" action="/desk/payouts/${approves ? 'approve' : 'refuse'}">${hidden(fields)}
${noteField('note', 'note', 'Note')}
${approves && state.quote && toleranceChoice(state.quote)}
<div class="buttons">${approves && html`<button formaction="/desk/payouts/approve">Approve <span class="visually-hidden">${partnerOrderId}</span></button>`}
${refuses && html`<button class="danger" formaction="/desk/payouts/refuse">Refuse <span class="visually-hidden">${partnerOrderId}</span></button>`}</div></form>`
}
${!approves && !refuses && !isOwn && html`<p class="faint">You don't have permission to approve or refuse.</p>`}`;
}

/** Whether the caller may approve or refuse it from the list. Refusing an own payout is left to its page. */
export function mayDecide({ caller }: Visit, { startedBy }: Pick<Decided, 'startedBy'>): boolean {
  return !isStarter(caller, startedBy) && (may(caller, 'approve') || may(caller, 'refuse'));
}

const pick = z.strictObject({ ...payoutId.shape, lockRateId: z.string().optional() });

/** What a chosen row stands for: the payout, and the quote that the page shows. */
function pickOf({ app, partnerOrderId, state }: Decided): string {
  return JSON.stringify({ app, partnerOrderId, lockRateId: state.quote?.lockRateId });
}

/** Leads the chosen rows of the form around it to a page that repeats them, before anything is decided. */
export function decisionBar({ caller, formToken }: Visit): Html {
  return html`${hidden({ formToken })}<div class="bulk"><output class="amount">Choose payouts to decide together. You confirm on the next page.</output>
<div class="buttons">${may(caller, 'approve') && html`<button data-key="a" formaction="${confirmPath('approve')}">Approve chosen</button>`}
${may(caller, 'refuse') && html`<button class="danger" data-key="r" formaction="${confirmPath('refuse')}">Refuse chosen</button>`}
</div></div>
<p class="keys faint"><kbd>j</kbd> <kbd>k</kbd> move in a table, <kbd>x</kbd> chooses, <kbd>a</kbd> <kbd>r</kbd> go to the buttons, <kbd>/</kbd> searches.</p>`;
}

export interface ReadPayout extends PayoutId, PayoutStart {
  state: PayoutState;
}

export async function readPayout(service: Service, caller: Caller, id: PayoutId): Promise<ReadPayout> {
  const start = await service.payoutStart(caller, id);
  return { ...id, ...start, state: await service.readStatus(caller, () => service.payouts.state(id)) };
}

export const targetOf = ({ request, state }: Pick<ReadPayout, 'request' | 'state'>) =>
  state.quote?.target ?? request.instructedAmount;

interface ShownBeside {
  nowMs: number;
  recent: readonly ListedPayout[];
  /** A checkbox with the name and the pick of each row. */
  choice?: (one: ReadPayout) => Html | false;
}

/** Payouts that await a decision, with the terms to which it applies. */
export function termsTable(
  { caller }: Visit,
  payouts: readonly ReadPayout[],
  { nowMs, recent, choice = () => false }: ShownBeside,
): Html {
  return table({
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
        html`<span class="choice">${choice(one)}<span><a href="${payoutLink(one)}">${one.partnerOrderId}</a>${state.reasons.map(({ code }) => html` ${pill(code, 'bad')}`)}${similarTo(recent, one).length > 0 && html` ${pill('PAID_TWICE?', 'warn')}`}</span></span>`,
        beneficiaryOf(request.receiver),
        money(targetOf(one)),
        money(state.quote?.pay),
        money(state.quote?.fee),
        state.quote?.exchangeRate,
        timeLeft(state.lockExpiresAt, nowMs),
        isStarter(caller, startedBy)
          ? html`${startedBy}<small>You or your key: someone else has to approve it.</small>`
          : (startedBy ?? 'not recorded'),
      ];
    }),
  });
}

export function choiceOf(one: ReadPayout, at: number): Html {
  const { currency, amount } = targetOf(one);
  return html`<input type="checkbox" name="${`pick-${at}`}" value="${pickOf(one)}" aria-label="Choose ${one.partnerOrderId}" data-amount="${amount}" data-currency="${currency}">`;
}

/** The lock expires before most approvals: the approver chooses how much worse than this one the new quote may be. */
function toleranceChoice(quote: Terms): Html {
  return html`<label for="tolerance">If the lock expires, the approval covers a new quote of</label>
<select id="tolerance" name="tolerance"><option value="">No worse than this one</option>${TOLERANCES.map(
    (percent) =>
      html`<option value="${percent}">Up to ${percent} % more: ${sentence(coveredText(coveredTerms(quote, percent)))}</option>`,
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
<fieldset><legend>Does the provider have this payment?</legend>
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
  confirmRoutes(scope, desk);
  chosenRoutes(scope, desk);
  for (const verb of DECISION_VERBS)
    postForm(scope, desk, { path: `/payouts/${verb}`, verb }, async ({ caller }, fields, reply) => {
      const id = idIn(payoutId, fields);
      await desk.service.decide(caller, verb, id, bodyOf(verb, fields));
      return redirectWith(reply, payoutLink(id), { done: verb, id: id.partnerOrderId });
    });
}

const confirmPath = (verb: Chosen) => `/desk/payouts/confirm-${verb}`;

/** Repeats the chosen payouts as they are now. Those whose terms are no longer those of the list are left out. */
function confirmRoutes(scope: FastifyInstance, desk: Desk): void {
  for (const verb of ['approve', 'refuse'] as const)
    postForm(scope, desk, { path: `/payouts/confirm-${verb}`, verb }, async (visit, fields, reply) => {
      const [recent, chosen] = await Promise.all([
        recentPayouts(desk, visit.caller),
        inParallel(picksIn(fields), async ({ lockRateId, ...id }) =>
          asShown(desk, visit.caller, verb, id, lockRateId).catch((error: unknown) => ({
            id,
            why: desk.toProblem(error, reply.request).message,
          })),
        ),
      ]);
      const payouts = chosen.filter((one) => 'state' in one);
      const leftOut = chosen.filter((one) => 'why' in one);
      const count = `${payouts.length} ${payouts.length === 1 ? 'payout' : 'payouts'}`;
      const [act] = ACTS[verb];
      return sendPage(reply, {
        title: payouts.length === 0 ? `Nothing to ${verb}` : `${act} ${count}?`,
        visit: await pageVisit(desk, reply.request),
        section: 'Inbox',
        content: html`${
          leftOut.length > 0 &&
          html`<div class="warning" role="alert"><p>Left out:</p><ul>${leftOut.map(({ id, why }) => html`<li><a href="${payoutLink(id)}">${id.partnerOrderId}</a>: ${why}.</li>`)}</ul></div>`
        }${payouts.length > 0 && html`${sumsOf(payouts)}${confirmForm(visit, verb, payouts, count)}${termsTable(visit, payouts, { recent, nowMs: desk.runtime.clock.wallMs() })}`}
<p><a class="button plain" href="/desk">Back to the inbox</a></p>`,
      });
    });
}

/** The payout, if its quote is still the one that was chosen and the caller may decide. Otherwise why it is left out. */
async function asShown(
  { service }: Desk,
  caller: Caller,
  verb: Chosen,
  id: PayoutId,
  lockRateId: string | undefined,
): Promise<ReadPayout | { id: PayoutId; why: string }> {
  const payout = await readPayout(service, caller, id);
  requireAuthority(caller, verb, payout);
  const { phase, quote } = payout.state;
  if (phase !== 'AWAITING_APPROVAL') return { id, why: 'it does not wait for approval any more' };
  if (quote?.lockRateId !== lockRateId) return { id, why: 'its quote has changed: choose it again' };
  return payout;
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
      html`${largest.map((one, at) => html`${at > 0 && ', '}${money(targetOf(one))} to ${beneficiaryOf(one.request.receiver)}`)}`,
    ],
    ['Payers pay', totals(payouts.flatMap(({ state }) => state.quote?.pay ?? []))],
    ['Fees', totals(payouts.flatMap(({ state }) => state.quote?.fee ?? []))],
  ])}`;
}

function confirmForm(
  { formToken }: Visit,
  verb: Chosen,
  payouts: readonly ReadPayout[],
  count: string,
): Html {
  const picks = Object.fromEntries(payouts.map((one, at) => [`pick-${at}`, pickOf(one)]));
  const [act, , kind] = ACTS[verb];
  return html`<form method="post" action="/desk/payouts/${verb}-chosen" class="bulk">${hidden({ formToken, ...picks })}
<div>${noteField('note', 'note', 'Note')}</div>
${
  verb === 'approve' &&
  html`<div><label for="tolerance">After a lock expires, approve a quote</label><select id="tolerance" name="tolerance"><option value="">no worse than shown</option>${TOLERANCES.map(
    (percent) => html`<option value="${percent}">up to ${percent} % worse</option>`,
  )}</select></div>`
}
<div class="buttons"><button class="${kind}">${act} ${count}</button></div></form>`;
}

/** One decision after another, each recorded and reported by itself: none hides what became of the others. */
function chosenRoutes(scope: FastifyInstance, desk: Desk): void {
  for (const verb of ['approve', 'refuse'] as const) {
    const path = `/payouts/${verb}-chosen`;
    postForm(scope, desk, { path, verb }, async (visit, fields, reply) => {
      const body = filledIn(fields, ...FIELDS[verb]);
      const results = await inParallel(picksIn(fields), async ({ lockRateId, ...id }) => {
        const decided = { ...body, ...(lockRateId !== undefined && { lockRateId }) };
        const result = await desk.service
          .decide(visit.caller, verb, id, decided)
          .catch((error: unknown) => desk.toProblem(error, reply.request));
        const problem = result instanceof Problem ? result : undefined;
        desk.audit.record(
          { method: 'POST', path: `/desk${path}`, verb },
          reply.request,
          problem?.status ?? 303,
          id,
        );
        const name = html`<a href="${payoutLink(id)}">${id.partnerOrderId}</a>`;
        return { problem, cells: [name, ...cellsOf(verb, result)] };
      });
      const failed = results.filter(({ problem }) => problem !== undefined).length;
      return sendPage(reply, {
        title: `${ACTS[verb][1]} ${results.length - failed} of ${results.length}`,
        visit: await pageVisit(desk, reply.request),
        section: 'Inbox',
        content: html`${failed > 0 && html`<p class="warning" role="alert">${failed} of ${results.length} ${failed === 1 ? 'was' : 'were'} not decided, or it is unknown.</p>`}
${table({ caption: 'Each decision', head: ['Payout', 'Amount#', 'Result', 'What happens now'], rows: results.map(({ cells }) => cells) })}
<p><a class="button" href="/desk">Back to the inbox</a></p>`,
      });
    });
  }
}

/** The amount, what became of the decision, and what happens now or why it was not accepted. */
function cellsOf(verb: Chosen, result: PayoutState | Problem): unknown[] {
  if (!(result instanceof Problem))
    return [money(result.quote?.target), pill(ACTS[verb][1], 'good'), sentence(result.sentence)];
  // After an error of ours, the decision may have been accepted.
  return result.status < 500
    ? ['', pill('NOT_ACCEPTED', 'bad'), result.message]
    : ['', pill('UNKNOWN', 'bad'), `${result.message}. Open the payout to see whether it was decided.`];
}

function picksIn(fields: Fields): z.output<typeof pick>[] {
  const texts = Object.entries(fields).flatMap(([name, value]) => (/^pick-\d+$/.test(name) ? [value] : []));
  if (texts.length === 0) throw invalidFields([{ path: 'payouts', message: 'none is chosen' }]);
  return texts.map((text) => valid(pick, parsed(text)));
}

/** Undefined if it is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
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
  return parsed(reviewedOrderIds) ?? 'not a list';
}
