/** `/desk/payout`: one payout with its amounts, splits, debits and steps, and its review. */
import type { FastifyInstance } from 'fastify';
import { openFindings } from '../client/follow-ups.ts';
import { REASON_MEANINGS } from '../contract/meanings.ts';
import type { CheckedPayoutRequest } from '../contract/payout-request.ts';
import { coveredText } from '../domain/payout-state.ts';
import { may } from '../service/permissions.ts';
import { type PayoutId, payoutId } from '../service/requests.ts';
import { type Desk, getPage, idIn } from './context.ts';
import { acknowledgementForm, approvalForm, otherForms, reviewForm } from './decisions.ts';
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
  label,
  money,
  payoutLink,
  pill,
  sentence,
  status,
  table,
  time,
  timeLeft,
} from './html.ts';
import type { Visit } from './identity.ts';
import { recentPayouts, SIMILAR_DAYS, similarTo } from './similar.ts';

type Story = Awaited<ReturnType<typeof storyOf>>;

export function storyRoutes(scope: FastifyInstance, desk: Desk): void {
  getPage(scope, desk, '/payout', async (visit, query) => {
    const story = await storyOf(desk, visit, idIn(payoutId, query));
    const forms = formsOf(visit, story);
    return {
      title: `Payout ${story.partnerOrderId}`,
      section: 'Payouts',
      content: html`${header(story)}<div class="sides"><div>${similarWarning(story)}${evidence(story)}${flags(visit, story)}${amounts(story)}</div>
<div class="side">${
        forms &&
        html`<section class="card" aria-labelledby="review"><h2 id="review">${forms.title}</h2>${forms.content}</section>`
      }${details(story, desk)}</div>
<div><h2>Timeline</h2>${stepList(story.timeline.steps)}${story.timeline.isCut && cut()}</div></div>`,
    };
  });
}

/** The first read requires the scope of the caller. */
async function storyOf(desk: Desk, visit: Visit, id: PayoutId) {
  const { payouts, withTemporalDeadline } = desk.service;
  const { state } = await desk.service.payout(visit.caller, id);
  const start = await desk.service.payoutStart(visit.caller, id);
  const { run: workflow } = start;
  const timeline = await withTemporalDeadline(() => payouts.timeline(id, start));
  // The follow-up may have found something after the end.
  const { reasons: found } =
    state.phase === 'DONE'
      ? await withTemporalDeadline(() => openFindings(desk.client, id, workflow.runId))
      : { reasons: [] };
  const read = { ...id, state, ...start, workflow, timeline, found };
  const recent = state.phase === 'AWAITING_APPROVAL' ? await recentPayouts(desk, visit.caller) : [];
  return { ...read, similar: similarTo(recent, read) };
}

function formsOf(visit: Visit, story: Story): { title: string; content: Html } | undefined {
  const { phase } = story.state;
  const others = otherForms(visit, story);
  if (phase === 'AWAITING_APPROVAL')
    return {
      title: 'Decide',
      content: html`${approvalForm(visit, story)}${others && html`<details><summary>Cancel it instead</summary>${others}</details>`}`,
    };
  if (phase === 'NEEDS_REVIEW' && may(visit.caller, 'resolve'))
    return { title: 'Review', content: html`${reviewForm(visit, story)}${others}` };
  return others && { title: 'Actions', content: others };
}

function header({ state, request, partnerOrderId }: Story): Html {
  const { reason } = state;
  return html`<p class="headline">${money(request.instructedAmount)} ${status(state)}</p>
<p>to ${beneficiaryOf(request.receiver)} · ${copyable(partnerOrderId)}</p>
<p class="lead"><strong>${sentence(state.sentence)}</strong>${state.nextStep !== 'Nothing.' && html` <span class="faint">${sentence(state.nextStep)}</span>`}</p>
${reason && html`<div class="lead">${explained(reason, REASON_MEANINGS)}</div>`}`;
}

function similarWarning({ similar }: Story): Html | undefined {
  if (similar.length === 0) return undefined;
  return html`<div class="warning" role="alert"><p>The same beneficiary got, or is to get, the same amount in the last ${SIMILAR_DAYS} days:</p>
<ul>${similar.map((one) => html`<li><a href="${payoutLink(one)}">${one.partnerOrderId}</a> ${status(one)} ${time(one.startedAt)}</li>`)}</ul></div>`;
}

const cut = () => html`<p class="faint">The history has more steps than this page shows.</p>`;

/** In a review: what was sent when, and what the provider said. */
function evidence({ state, timeline: { steps, isCut } }: Story): Html | undefined {
  if (state.phase !== 'NEEDS_REVIEW') return undefined;
  const { sends, reviewedOrderIds = [] } = state;
  return html`<section class="card" aria-labelledby="evidence"><h2 id="evidence">Evidence</h2>
${facts([
  ['Payments sent', sends],
  ['Orders the provider names', reviewedOrderIds.length === 0 ? 'none' : reviewedOrderIds.join(', ')],
  ['Provider last asked', time(state.lastAskedAt)],
  ['Provider last responded', time(state.lastConfirmedAt)],
])}${stepList(steps.filter(({ isEvidence }) => isEvidence))}${isCut && cut()}</section>`;
}

function details(story: Story, desk: Desk): Html {
  const { state, request, startedBy, workflow, app } = story;
  const { steps, isCut } = story.timeline;
  const { quote, acknowledged, decisions } = state;
  const covers = decisions?.findLast(({ action }) => action === 'approve')?.covers;
  return html`<section class="card" aria-labelledby="details"><h2 id="details">Details</h2>${facts([
    ['Status', coded(state.outcome ?? state.phase)],
    ...beneficiaryFacts(request.receiver),
    ['Client', request.clientId],
    ['Payer', request.payerId],
    ['Application', app],
    ['Started by', startedBy ?? 'not recorded'],
    ['Started', time(isCut ? workflow.startedAt : (steps[0]?.at ?? workflow.startedAt))],
    ['Order', copyable(state.orderId)],
    ['Risk audit', state.auditStatus && pill(state.auditStatus)],
    [
      'Rate lock',
      state.lockExpiresAt &&
        quote &&
        html`${copyable(quote.lockRateId)} ${timeLeft(state.lockExpiresAt, desk.runtime.clock.wallMs())}`,
    ],
    ['Approve until', time(state.approvalExpiresAt)],
    ['Approval covers', covers && sentence(coveredText(covers))],
    ['Finished', time(state.finishedAt)],
    [
      'Flags acknowledged',
      acknowledged &&
        html`${acknowledged.reasons.map(({ code }) => label(code)).join(', ')} by ${acknowledged.by}, ${time(acknowledged.at)}${acknowledged.note !== undefined && `: ${acknowledged.note}`}`,
    ],
  ])}${metadataFacts(request)}${temporalLink(desk, workflow)}</section>`;
}

function flags(visit: Visit, story: Story): Html | undefined {
  const { state, found } = story;
  // The evidence says more than the flag of the review.
  const reasons = state.reasons.filter(({ code }) => code !== 'NEEDS_REVIEW');
  if (reasons.length + found.length === 0) return undefined;
  return html`<section aria-labelledby="flags"><h2 id="flags">Needs attention</h2>
${attentionReasons('payout', reasons)}
${found.length > 0 && html`<h3>Found by the follow-up</h3>${attentionReasons('followUp', found)}`}
${state.phase === 'DONE' && may(visit.caller, 'acknowledge') && acknowledgementForm(visit, story)}</section>`;
}

function metadataFacts({ metadata }: CheckedPayoutRequest): Html | undefined {
  return metadata && html`<h2>Metadata</h2>${facts(Object.entries(metadata))}`;
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

function amounts({ state }: Story): Html {
  const { quote, debits = [], splits = [] } = state;
  return html`${
    quote &&
    html`<section class="card"><h2>Amounts</h2>${facts([
      ['Payer pays', money(quote.pay)],
      ['Beneficiary gets', money(quote.target)],
      ['Rate', quote.exchangeRate],
      ['Fee', money(quote.fee)],
      ['Received', money(state.received)],
      ['Failed', money(state.failed)],
    ])}</section>`
  }${
    splits.length > 0 &&
    table({
      caption: 'Payments',
      head: ['Number', 'Amount#', 'Status', 'Finished', 'Notes'],
      rows: splits.map((split) => [
        copyable(split.distributeId),
        money(split.target),
        pill(split.status),
        time(split.finishedAt),
        [split.error, split.refunded && `Returned: ${split.refundReason ?? 'no reason given'}`]
          .filter((part) => typeof part === 'string')
          .join(' '),
      ]),
    })
  }${
    debits.length > 0 &&
    table({
      caption: 'Debits',
      head: ['Account', 'Type', 'Amount#', 'Fee#', 'Without the fee#'],
      rows: debits.map(({ accountId, accountType, pay, fee, actual }) => [
        accountId,
        html`<span title="${accountType}">${label(accountType)}</span>`,
        ...[pay, fee, actual].map(money),
      ]),
    })
  }`;
}

/** A number that only support needs comes after what it is about. */
const ABOUT_ORDER = /^Order (\S+?)(?:: (.+))?\.$/;

function stepList(steps: Story['timeline']['steps']): Html {
  const shown = steps.map(({ at, what, detail, tone, count, lastAt }) => {
    const [, orderId, status] = ABOUT_ORDER.exec(detail ?? '') ?? [];
    const about = orderId === undefined ? detail && sentence(detail) : status && label(codeOf(status));
    return html`<li class="${tone}"><p>${sentence(what)}${about && html`: <span class="faint">${about}</span>`}${orderId !== undefined && html` <small class="faint">${orderId}</small>`}</p>
<p class="faint">${time(at)}${count !== undefined && html`, ${count} times, last at ${time(lastAt)}`}</p></li>`;
  });
  return html`<ol class="timeline">${shown}</ol>`;
}

/** The timeline has statuses in words. */
const codeOf = (words: string) => words.toUpperCase().replaceAll(' ', '_');
