/** The forms with which approvers and operators decide about a payout, as their permissions allow. */
import type { PayoutStart } from '../client/payouts.ts';
import type { MadeDecision, PayoutState, Terms } from '../contract/payout.ts';
import { coveredTerms } from '../domain/payout-quote.ts';
import { coveredText, refusesCancel } from '../domain/payout-state.ts';
import { isStarter } from '../domain/permissions.ts';
import { isoTime } from '../domain/time.ts';
import { may } from '../service/permissions.ts';
import { invalidFields, type Problem } from '../service/problem.ts';
import type { DecisionVerb, PayoutId } from '../service/requests.ts';
import type { Fields } from './context.ts';
import { type Html, hidden, html, noteField, sentence } from './html.ts';
import type { Visit } from './identity.ts';

/** A form that was sent and not accepted: the page shows why, and keeps what was typed. */
export interface Attempt {
  verb: DecisionVerb;
  fields: Fields;
  problem: Problem;
}

export interface Decided extends PayoutId, Pick<PayoutStart, 'startedBy' | 'request'> {
  state: PayoutState;
  attempt?: Attempt | undefined;
  /** When the follow-up had found what the page shows. Unix milliseconds. */
  foundMs?: number | undefined;
  /** The list from which the page was opened. */
  from?: 'inbox' | undefined;
}

/** The percentages that an approver may choose from. The API accepts others too. */
export const TOLERANCES = ['0.5', '1', '2', '5'];

/** The fields of each form that its decision has. */
export const DECISION_FIELDS = {
  approve: ['note', 'lockRateId', 'tolerance'],
  refuse: ['note', 'lockRateId'],
  cancel: ['reason'],
  acknowledge: ['note', 'readAt'],
} as const;

/** Reads what was typed into the form of one of `verbs`. */
export function typed({ attempt }: Decided, ...verbs: readonly DecisionVerb[]): Fields {
  return attempt && verbs.includes(attempt.verb) ? attempt.fields : {};
}

/** An approval applies to the quote that a page showed. The form names it, so this rejects only what no page sent. */
export function requireTerms(verb: DecisionVerb, lockRateId: string | undefined): void {
  if (verb === 'approve' && !lockRateId)
    throw invalidFields([
      { path: 'lockRateId', message: 'read the quote of the payout before you approve it' },
    ]);
}

/** Names the payout, and the list that its page leads back to. */
export function ids({ formToken }: Visit, { app, partnerOrderId, from }: Decided) {
  return { formToken, app, partnerOrderId, from };
}

/** Approve or refuse, with a note. The decision applies only to the quote that the page shows, and to the range that it names. */
export function approvalForm(visit: Visit, payout: Decided) {
  const { partnerOrderId, startedBy, state } = payout;
  const { caller } = visit;
  const isOwn = isStarter(caller, startedBy);
  const approves = may(caller, 'approve') && !isOwn;
  const refuses = may(caller, 'refuse');
  const { note, tolerance } = typed(payout, 'approve', 'refuse');
  return html`${isOwn && html`<p class="faint">You or your key started this payout, so someone else has to approve it.</p>`}
${
  (approves || refuses) &&
  html`<form method="post" action="/desk/payouts/${approves ? 'approve' : 'refuse'}">${hidden({ ...ids(visit, payout), lockRateId: state.quote?.lockRateId })}
${noteField('note', 'note', 'Note', { value: note })}
${approves && state.quote && toleranceChoice(state.quote, tolerance)}
<div class="buttons">${approves && html`<button formaction="/desk/payouts/approve">Approve <span class="visually-hidden">${partnerOrderId}</span></button>`}
${refuses && html`<button class="danger" formaction="/desk/payouts/refuse">Refuse <span class="visually-hidden">${partnerOrderId}</span></button>`}</div></form>`
}
${!approves && !refuses && !isOwn && html`<p class="faint">You don't have permission to approve or refuse.</p>`}`;
}

/** Whether the caller may approve or refuse it from the list. Refusing an own payout is left to its page. */
export function mayDecide({ caller }: Visit, { startedBy }: Pick<Decided, 'startedBy'>): boolean {
  return !isStarter(caller, startedBy) && (may(caller, 'approve') || may(caller, 'refuse'));
}

/** Who decided about the approval of the quote `lockRateId`. Undefined while nobody has. */
export function decidedBy(
  { phase, decisions = [] }: PayoutState,
  lockRateId: string | undefined,
): MadeDecision | undefined {
  const made = decisions.findLast(
    ({ action, ...one }) =>
      action === 'refuse' || action === 'cancel' || (action === 'approve' && one.lockRateId === lockRateId),
  );
  return made ?? (phase === 'AWAITING_APPROVAL' ? undefined : decisions.at(-1));
}

/** The lock expires before most approvals: the approver chooses how much worse than this one the new quote may be. */
function toleranceChoice(quote: Terms, chosen: string | undefined): Html {
  return html`<label for="tolerance">If the lock expires, the approval covers a new quote of</label>
<select id="tolerance" name="tolerance"><option value="">No worse than this one</option>${TOLERANCES.map(
    (percent) =>
      html`<option value="${percent}"${percent === chosen && html` selected`}>Up to ${percent} % more: ${sentence(coveredText(coveredTerms(quote, percent)))}</option>`,
  )}</select>`;
}

/** By field, as people in finance would say it. */
export function fieldErrors({ fields, message }: Problem): ReadonlyMap<string, string> {
  const unread = /^order \S+ could not be read/.test(message);
  const other = /^order \S+ (is not this payout's: .+)$/.exec(message)?.[1];
  const named = /^(orderId|tradeOrderId): (.+)$/.exec(message);
  return new Map([
    ...fields.map(({ path, message: why }) => [path, capital(`${why}.`)] as const),
    ...(unread ? [['orderId', "The provider doesn't know this order, or didn't respond."] as const] : []),
    ...(other === undefined ? [] : [['orderId', sentence(`The order ${other}.`)] as const]),
    ...(named ? [[named[1] ?? '', capital(`${named[2]}.`)] as const] : []),
  ]);
}

const capital = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

export function acknowledgementForm(visit: Visit, payout: Decided): Html {
  return html`<form method="post" action="/desk/payouts/acknowledge">${hidden({ ...ids(visit, payout), readAt: isoTime(payout.foundMs ?? 0) })}
${noteField('acknowledgement', 'note', 'Note', { value: typed(payout, 'acknowledge')['note'] })}
<div class="buttons"><button class="plain">Acknowledge the flags</button></div></form>`;
}

/** The phases in which the payout accepts them, but for a race. */
const CANCELED_IN = ['SCHEDULED', 'CHECKING', 'QUOTING', 'AWAITING_APPROVAL', 'PAUSED'];
const POLLED_IN = ['RECONCILING', 'NEEDS_REVIEW', 'PROCESSING', 'FETCHING_DETAIL'];

/** Cancel and poll. Undefined if the payout accepts neither now, or the caller may do neither. */
export function otherForms(visit: Visit, payout: Decided): Html | undefined {
  const { caller } = visit;
  const { state } = payout;
  const fields = ids(visit, payout);
  if (POLLED_IN.includes(state.phase) && may(caller, 'poll'))
    return html`<form method="post" action="/desk/payouts/poll">${hidden(fields)}<button class="plain">Query the provider now</button></form>`;
  if (!CANCELED_IN.includes(state.phase) || !may(caller, 'cancel') || refusesCancel(state)) return undefined;
  return html`<form method="post" action="/desk/payouts/cancel">${hidden(fields)}
${noteField('reason', 'reason', 'Reason for the cancellation', { value: typed(payout, 'cancel')['reason'] })}
<div class="buttons"><button class="danger">Cancel the payout</button></div></form>`;
}
