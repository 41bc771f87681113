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
  duration,
  explained,
  facts,
  type Html,
  html,
  isolated,
  label,
  money,
  pill,
  table,
  time,
} from './html.ts';
import type { Visit } from './identity.ts';

type Story = Awaited<ReturnType<typeof storyOf>>;

export function storyRoutes(scope: FastifyInstance, desk: Desk): void {
  getPage(scope, desk, '/payout', async (visit, query) => {
    const story = await storyOf(desk, visit, idIn(payoutId, query));
    const forms = formsOf(visit, story);
    return {
      title: `Payout ${story.partnerOrderId}`,
      content: html`<div class="${forms ? 'sides' : 'whole'}"><div>${overview(visit, story, desk)}${amounts(story)}${timeline(story)}</div>${
        forms &&
        html`<section class="card" aria-labelledby="review"><h2 id="review">${forms.title}</h2>${forms.content}</section>`
      }</div>`,
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
  return { ...id, state, ...start, workflow, timeline, found };
}

function formsOf(visit: Visit, story: Story): { title: string; content: Html } | undefined {
  const { phase } = story.state;
  const others = otherForms(visit, story);
  if (phase === 'AWAITING_APPROVAL')
    return { title: 'Decide', content: html`${approvalForm(visit, story, 'story')}${others}` };
  if (phase === 'NEEDS_REVIEW' && may(visit.caller, 'resolve'))
    return { title: 'Review', content: html`${reviewForm(visit, story)}${others}` };
  return others && { title: 'Actions', content: others };
}

function overview(visit: Visit, story: Story, desk: Desk): Html {
  const { state, request, startedBy, workflow, ...id } = story;
  const { reason, quote, acknowledged, decisions } = state;
  const covers = decisions?.findLast(({ action }) => action === 'approve')?.covers;
  const { receiver } = request;
  return html`<p class="headline">${money(request.instructedAmount)} to ${isolated(receiver.bankAccountName)}</p>
<p>${state.sentence}</p><p class="faint">Next step: ${state.nextStep}</p>
${reason && html`<p>${explained(reason, REASON_MEANINGS)}</p>`}
${flags(visit, story)}
<h2>Facts</h2>${facts([
    ['Phase', label(state.phase)],
    ['Outcome', state.outcome && label(state.outcome)],
    ...beneficiaryFacts(receiver),
    ['Client', request.clientId],
    ['Payer', request.payerId],
    ['Application', id.app],
    ['Started by', startedBy ?? 'not recorded'],
    ['Started (latest run)', time(workflow.startedAt)],
    ['Order', state.orderId],
    ['Orders that the provider names', state.reviewedOrderIds?.join(', ')],
    ['Create calls sent', state.sends],
    ['Risk audit', state.auditStatus && label(state.auditStatus)],
    [
      'Lock',
      state.lockExpiresAt &&
        quote &&
        html`${quote.lockRateId}, ${lockLeft(state.lockExpiresAt, desk.runtime.clock.wallMs())}`,
    ],
    ['Approve until', time(state.approvalExpiresAt)],
    ['Approval covers', covers && coveredText(covers)],
    ['Provider last asked', time(state.lastAskedAt)],
    ['Provider last responded', time(state.lastConfirmedAt)],
    ['Finished', time(state.finishedAt)],
    [
      'Flags acknowledged',
      acknowledged &&
        html`${acknowledged.reasons.map(({ code }) => label(code)).join(', ')} by ${acknowledged.by}, ${time(acknowledged.at)}${acknowledged.note !== undefined && `: ${acknowledged.note}`}`,
    ],
  ])}${metadataFacts(request)}${temporalLink(desk, workflow)}`;
}

function flags(visit: Visit, story: Story): Html | undefined {
  const { state, found } = story;
  if (!state.needsAttention && found.length === 0) return undefined;
  return html`<section aria-labelledby="flags"><h2 id="flags">Needs attention</h2>
${state.needsAttention && attentionReasons('payout', state.reasons)}
${found.length > 0 && html`<h3>Found by the follow-up</h3>${attentionReasons('followUp', found)}`}
${state.phase === 'DONE' && may(visit.caller, 'acknowledge') && acknowledgementForm(visit, story)}</section>`;
}

function metadataFacts({ metadata }: CheckedPayoutRequest): Html | undefined {
  return metadata && html`<h2>Metadata</h2>${facts(Object.entries(metadata))}`;
}

function lockLeft(until: string, nowMs: number): string {
  const leftMs = Date.parse(until) - nowMs;
  return leftMs > 0 ? `${duration(leftMs)} left` : 'expired';
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
    html`<h2>Quote</h2>${facts([
      ['Payer pays', money(quote.pay)],
      ['Beneficiary gets', money(quote.target)],
      ['Rate', quote.exchangeRate],
      ['Fee', money(quote.fee)],
      ['Received', money(state.received)],
      ['Failed', money(state.failed)],
    ])}`
  }${
    splits.length > 0 &&
    table({
      caption: 'Splits',
      head: ['Payment', 'Amount#', 'Status', 'Finished', 'Notes'],
      rows: splits.map((split) => [
        split.distributeId,
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
        accountType,
        ...[pay, fee, actual].map(money),
      ]),
    })
  }`;
}

function timeline({ timeline: { steps, isCut } }: Story): Html {
  const shown = steps.map(({ at, what, detail, count, lastAt }) => {
    return html`<li><p>${what}</p>${detail !== undefined && html`<p>${detail}</p>`}
<p class="faint">${time(at)}${count !== undefined && html`, ${count} times, last at ${time(lastAt)}`}</p></li>`;
  });
  return html`<h2>Timeline</h2><ol class="timeline">${shown}</ol>${
    isCut && html`<p class="faint">The history has more steps than this page shows.</p>`
  }`;
}
