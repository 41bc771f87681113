/** `/desk/payout`: one payout with its amounts, splits, debits and steps, and its review. */
import type { FastifyInstance } from 'fastify';
import { openFindings } from '../client/follow-ups.ts';
import { OUTCOMES } from '../contract/codes.ts';
import { REASON_MEANINGS } from '../contract/meanings.ts';
import { formatMoney } from '../contract/money.ts';
import type { PayoutState } from '../contract/payout.ts';
import type { CheckedPayoutRequest } from '../contract/payout-request.ts';
import { coveredText, notCoveredText } from '../domain/payout-state.ts';
import { may } from '../service/permissions.ts';
import { type PayoutId, payoutId } from '../service/requests.ts';
import { amounts, returnedOf, returnedText } from './amounts.ts';
import { accountHistory, historyText } from './beneficiary-history.ts';
import { type Desk, filledIn, getPage, idIn } from './context.ts';
import { type Attempt, acknowledgementForm, approvalForm, type Decided, otherForms } from './decisions.ts';
import {
  attentionReasons,
  beneficiaryFacts,
  beneficiaryOf,
  coded,
  copyable,
  explained,
  facts,
  type Html,
  html,
  isReturn,
  label,
  link,
  lockLeft,
  money,
  payoutLink,
  pill,
  RETURNED_HELP,
  sentence,
  status,
  time,
} from './html.ts';
import type { Visit } from './identity.ts';
import type { Page } from './layout.ts';
import { comparison, reviewForm } from './review.ts';
import { recentPayouts, SIMILAR_DAYS, similarTo } from './similar.ts';
import { approveUntil } from './terms.ts';

type Story = Awaited<ReturnType<typeof storyOf>>;

/** Leads to the page. */
interface Opened extends Pick<Decided, 'from' | 'attempt'> {
  /** Why the attempt was not accepted, in the state after it. */
  whyNot?: (attempt: Attempt, state: PayoutState) => Html;
}

export function storyRoutes(scope: FastifyInstance, desk: Desk): void {
  getPage(scope, desk, '/payout', async (visit, query) =>
    payoutPage(desk, visit, idIn(payoutId, query), { from: openedFrom(query) }),
  );
}

export const openedFrom = (fields: unknown) =>
  filledIn(fields, 'from').from === 'inbox' ? 'inbox' : undefined;

export async function payoutPage(desk: Desk, visit: Visit, id: PayoutId, opened: Opened): Promise<Page> {
  const story = { ...(await storyOf(desk, visit, id)), ...opened };
  const nowMs = desk.runtime.clock.wallMs();
  const forms = formsOf(visit, story, nowMs);
  const { attempt, whyNot, from, state, timeline } = story;
  // The evidence has the others.
  const steps = isReviewed(state)
    ? timeline.steps.filter(({ isEvidence }) => !isEvidence)
    : [...timeline.steps, ...laterSteps(story)];
  return {
    title: `Payout ${story.partnerOrderId}`,
    section: from === 'inbox' ? 'Inbox' : 'Payouts',
    content: html`${attempt && whyNot && html`<p class="warning" role="alert">${whyNot(attempt, state)}</p>`}${header(visit, story)}${from === 'inbox' && !WAITS.includes(state.phase) && backToInbox(visit)}<div class="sides"><div>${similarWarning(story)}${evidence(story)}${flags(visit, story)}${amounts(story)}${metadataFacts(story.request)}</div>
<div class="side">${
      forms &&
      html`<section class="card" aria-labelledby="review"><h2 id="review">${forms.title}</h2>${forms.content}</section>`
    }${details(story, desk, nowMs)}</div>
${steps.length > 0 && html`<div><h2>${isReviewed(state) ? 'Other steps' : 'Timeline'}</h2>${stepList(steps)}${timeline.isCut && !isReviewed(state) && cut()}</div>`}</div>`,
  };
}

const WAITS = ['AWAITING_APPROVAL', 'NEEDS_REVIEW'];

/** After a decision: what waits next. */
function backToInbox({ counts }: Visit): Html {
  return html`<p><a class="button plain" href="/desk">Back to the inbox${counts && html` (${counts.approvals} waiting)`}</a></p>`;
}

const isReviewed = ({ phase }: PayoutState) => phase === 'NEEDS_REVIEW';

/** The first read requires the scope of the caller. */
async function storyOf(desk: Desk, visit: Visit, id: PayoutId) {
  const { payouts, withTemporalDeadline } = desk.service;
  const { state } = await desk.service.payout(visit.caller, id);
  const start = await desk.service.payoutStart(visit.caller, id);
  const { run: workflow } = start;
  const timeline = await withTemporalDeadline(() => payouts.timeline(id, start));
  // The follow-up may have found something after the end.
  const followUp =
    state.phase === 'DONE'
      ? await withTemporalDeadline(() => openFindings(desk.client, id, workflow.runId))
      : undefined;
  const { reasons: found = [], returned = [], acknowledged = state.acknowledged } = followUp ?? {};
  const read = {
    ...{ ...id, state, ...start, workflow, timeline, found, acknowledged },
    foundMs: followUp?.foundMs,
    ...{ returned: returnedOf(state, returned), later: returned.filter(({ inResult }) => !inResult) },
  };
  const [recent, history] =
    state.phase === 'AWAITING_APPROVAL'
      ? await Promise.all([
          recentPayouts(desk, visit.caller),
          accountHistory(desk, visit.caller, start.request),
        ])
      : [[], undefined];
  const listed = [...(history?.payouts ?? []), ...recent].find(
    (one) => one.app === id.app && one.partnerOrderId === id.partnerOrderId,
  );
  return { ...read, similar: similarTo(recent, read), history, batch: listed?.batch };
}

function formsOf(
  visit: Visit,
  story: Story & Opened,
  nowMs: number,
): { title: string; content: Html } | undefined {
  const { phase, approvalExpiresAt, stale } = story.state;
  // The last known state has no terms, sends or orders to which a decision could apply (H360).
  if (stale) return undefined;
  const others = otherForms(visit, story);
  if (phase === 'AWAITING_APPROVAL')
    return {
      title: 'Decide',
      content: html`${approvalExpiresAt !== undefined && html`<p>Approve ${approveUntil(approvalExpiresAt, nowMs)}</p>`}${approvalForm(visit, story)}${others && html`<details${story.attempt?.verb === 'cancel' && html` open`}><summary>Cancel it instead</summary>${others}</details>`}`,
    };
  if (phase === 'NEEDS_REVIEW' && may(visit.caller, 'resolve'))
    return { title: 'Review', content: html`${reviewForm(visit, story)}${others}` };
  return others && { title: 'Actions', content: others };
}

function header({ caller }: Visit, story: Story): Html {
  const { state, request } = story;
  const { reason } = state;
  const [says, next] = leadOf(story, may(caller, 'resolve'));
  return html`<p class="headline">${money(request.instructedAmount)} ${returnedPill(story) ?? status(state)}</p>
<p>to ${beneficiaryOf(request.receiver)}</p>
<p class="lead"><strong>${says}</strong>${next !== '' && html` <span class="faint">${next}</span>`}</p>
${reason && html`<div class="lead">${explained(reason, REASON_MEANINGS)}</div>`}`;
}

/** The state and the next step, in words. */
function leadOf(
  { state, request, returned, found }: Story,
  resolves: boolean,
): [says: unknown, next: unknown] {
  const { phase, outcome, quote, decisions, received, failed } = state;
  const said = sentence(state.sentence);
  const says = resolves ? said.replace(/^Somebody must decide\b/, 'You need to decide') : said;
  if (returned)
    return [
      sentence(returnedText(state, returned)),
      // A flag says it below.
      [...state.reasons, ...found].some(isReturn) ? '' : RETURNED_HELP,
    ];
  if (outcome === 'PARTIAL_SUCCESS' && received && failed)
    return [
      html`Paid ${money(received)}.`,
      html`${money(failed)} didn't arrive. Start a new payout for the rest.`,
    ];
  if (phase === 'SCHEDULED' && request.notBefore !== undefined)
    return [html`Starts ${time(request.notBefore)}. Nothing has been sent.`, 'You can cancel until then.'];
  if (phase === 'AWAITING_APPROVAL' && quote)
    return [
      html`Pay ${money(quote.pay)} for ${money(quote.target)}.`,
      html`<br>If the rate lock has expired, a new quote may cost at most that. ${sentence(notCoveredText(decisions))}`,
    ];
  return [says, state.nextStep === 'Nothing.' ? '' : sentence(state.nextStep)];
}

function returnedPill({ returned }: Story): Html | undefined {
  return returned && (returned.isWhole ? pill('RETURNED', 'bad') : pill('PARTLY_RETURNED', 'bad'));
}

function similarWarning({ similar }: Story): Html | undefined {
  if (similar.length === 0) return undefined;
  return html`<div class="warning" role="alert"><p>The same beneficiary got, or is to get, the same amount in the last ${SIMILAR_DAYS} days:</p>
<ul>${similar.map((one) => html`<li><a href="${payoutLink(one)}">${one.partnerOrderId}</a> ${status(one)} ${time(one.startedAt)}</li>`)}</ul></div>`;
}

const cut = () => html`<p class="faint">The history has more steps than this page shows.</p>`;

/** In a review: what was sent when, and what the provider said. */
function evidence({ state, request, timeline: { steps, isCut } }: Story): Html | undefined {
  if (!isReviewed(state)) return undefined;
  const { sends, reviewedOrderIds = [] } = state;
  return html`<section class="card" aria-labelledby="evidence"><h2 id="evidence">Evidence</h2>
${facts([
  ['Payments sent', sends],
  ['Orders the provider names', reviewedOrderIds.length === 0 ? 'none' : reviewedOrderIds.join(', ')],
  ['Provider last asked', time(state.lastAskedAt)],
  ['Provider last responded', time(state.lastConfirmedAt)],
])}${comparison(state, request)}${stepList(steps.filter(({ isEvidence }) => isEvidence))}${isCut && cut()}</section>`;
}

function details(story: Story, desk: Desk, nowMs: number): Html {
  const { state, request, startedBy, workflow, app, partnerOrderId, acknowledged } = story;
  const { history, batch } = story;
  const { steps, isCut } = story.timeline;
  const { quote, decisions } = state;
  const covers = decisions?.findLast(({ action }) => action === 'approve')?.covers;
  return html`<section class="card" aria-labelledby="details"><h2 id="details">Details</h2>${facts([
    ['Status', returnedPill(story) ?? coded(state.outcome ?? state.phase)],
    ['Id', copyable(partnerOrderId)],
    ...beneficiaryFacts(request.receiver),
    ['This account', history && historyText(history, story)],
    ['Purpose', label(request.remittancePurposeCode)],
    [
      'Batch',
      batch !== undefined && html`<a href="${link('/desk/batch', { app, batchId: batch })}">${batch}</a>`,
    ],
    ['Client', request.clientId],
    ['Payer', request.payerId],
    ['Application', app !== 'default' && app],
    ['Started by', startedBy ?? 'not recorded'],
    ['Started', time(isCut ? workflow.startedAt : (steps[0]?.at ?? workflow.startedAt))],
    [state.phase === 'SCHEDULED' ? 'Starts' : 'Not before', time(request.notBefore)],
    ['Order', copyable(state.orderId)],
    // Of the order. The status of a payout has the same word for money that came back.
    [
      'Risk audit',
      state.auditStatus === 'RETURNED' ? pill('MATERIAL_REQUESTED', 'warn') : pill(state.auditStatus),
    ],
    [
      'Rate lock',
      state.lockExpiresAt &&
        quote &&
        html`${lockLeft(state.lockExpiresAt, nowMs)}<details><summary>Number</summary>${copyable(quote.lockRateId)}</details>`,
    ],
    ['Approval covers', covers && sentence(coveredText(covers))],
    ['Finished', time(state.finishedAt)],
    [
      'Flags acknowledged',
      acknowledged &&
        html`${acknowledged.reasons.map(({ code }) => label(code)).join(', ')} by ${acknowledged.by}, ${time(acknowledged.at)}${acknowledged.note !== undefined && `: ${acknowledged.note}`}`,
    ],
  ])}${temporalLink(desk, workflow)}</section>`;
}

function flags(visit: Visit, story: Story): Html | undefined {
  const { state, found } = story;
  // The evidence says more than the flag of the review.
  const reasons = state.reasons.filter(({ code }) => code !== 'NEEDS_REVIEW');
  if (reasons.length + found.length === 0) return undefined;
  return html`<section class="flags" aria-labelledby="flags"><h2 id="flags">Needs attention</h2>
${attentionReasons('payout', reasons)}
${found.length > 0 && html`<h3>Found by the follow-up</h3>${attentionReasons('followUp', found)}`}
${state.phase === 'DONE' && may(visit.caller, 'acknowledge') && acknowledgementForm(visit, story)}</section>`;
}

function metadataFacts({ metadata }: CheckedPayoutRequest): Html | undefined {
  return (
    metadata && html`<section class="card"><h2>Metadata</h2>${facts(Object.entries(metadata))}</section>`
  );
}

function temporalLink(
  { config: { PAYOUTS_DESK_TEMPORAL_UI: temporalUi }, client }: Desk,
  { workflowId, runId }: Story['workflow'],
): Html | undefined {
  if (temporalUi === undefined) return undefined;
  const parts = ['namespaces', client.options.namespace, 'workflows', workflowId, runId, 'history'];
  const path = parts.map(encodeURIComponent).join('/');
  return html`<p><a href="${`${temporalUi}/${path}`}" rel="noreferrer">Open in the Temporal UI</a></p>`;
}

/** After the end: what came back, and that people have seen it. */
function laterSteps({ acknowledged, later }: Story): Story['timeline']['steps'] {
  const returns = later.map(({ seenAt, target, refundReason }) => {
    const detail = [`${formatMoney(target)}.`, refundReason].filter(Boolean).join(' ');
    return { at: seenAt, what: 'Came back', detail, tone: 'bad' as const };
  });
  if (!acknowledged) return returns;
  const { at, by, note } = acknowledged;
  const seen = { at, what: `Flags acknowledged by ${by}`, ...(note !== undefined && { detail: note }) };
  return [...returns, seen].sort((one, other) => Date.parse(one.at) - Date.parse(other.at));
}

/** A number that only support needs comes after what it is about. */
const ABOUT_ORDER = /^Order (\S+?)(?:: (.+))?\.$/;

function stepList(steps: Story['timeline']['steps']): Html {
  const shown = steps.map(({ at, what, detail, tone, count, lastAt }) => {
    const [, orderId, status] = ABOUT_ORDER.exec(detail ?? '') ?? [];
    const about = orderId === undefined ? detail && outcomeIn(detail) : status && label(codeOf(status));
    return html`<li class="${tone}"><p>${sentence(what)}${about && html`: <span class="faint">${about}</span>`}${orderId !== undefined && html` <small class="faint">${orderId}</small>`}</p>
<p class="faint">${count === undefined ? time(at, 'exact') : html`${count} times since ${time(at, 'brief')}, last ${time(lastAt, 'brief')}`}</p></li>`;
  });
  return html`<ol class="timeline">${shown}</ol>`;
}

const outcomeIn = (detail: string) => {
  const outcome = OUTCOMES.find((code) => codeOf(detail.slice(0, -1)) === code);
  return outcome ? label(outcome) : sentence(detail);
};

/** The timeline has statuses and outcomes in words. */
const codeOf = (words: string) => words.toUpperCase().replaceAll(' ', '_');
