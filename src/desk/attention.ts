/**
 * Everything that needs attention, in words: flagged payouts, follow-ups, receiving account requests, tokens and endpoints of
 * events; and workflows that cannot continue.
 */
import type { Client } from '@temporalio/client';
import { followUpResultOf } from '../client/acknowledgements.ts';
import { applicationOf, ownIdOf, payoutOf, payoutOfFollowUp } from '../contract/ids.ts';
import type { ListedPayout } from '../contract/lists.ts';
import { endpointStateQuery, tokenStateQuery, type WorkflowSignatures } from '../contract/workflows.ts';
import { isScoped } from '../domain/permissions.ts';
import { describeFailingWorkflow, WORKFLOW_TASK_FAILS } from '../domain/reconciliation.ts';
import { followUpReasons } from '../domain/reconciliation-follow-up.ts';
import { applicationsWithin } from '../service/permissions.ts';
import { knownFailingWorkflows, lastReconciliation } from '../temporal/failing-workflows.ts';
import { type ListedRun, listRunPage, quoteIds } from '../temporal/visibility.ts';
import { type Desk, type Finding, PAYOUTS_PER_PAGE, readable } from './context.ts';
import {
  type AttentionKind,
  attentionReasons,
  type CodedMessage,
  type Html,
  html,
  label,
  link,
  payoutLink,
} from './html.ts';
import type { Visit } from './identity.ts';

/** Requests, tokens and endpoints on the first page. */
const MAX_OTHERS = 20;

interface Item {
  kind: AttentionKind;
  what: string;
  name: string;
  href?: string;
  sentence?: string;
  reasons: readonly CodedMessage[];
}

export async function attentionSection(
  desk: Desk,
  visit: Visit,
  cursor: string | undefined,
): Promise<{ content: Html; nextCursor?: string | undefined }> {
  const { payouts, withTemporalDeadline } = desk.service;
  const apps = applicationsWithin(visit.caller);
  const page = await withTemporalDeadline(() =>
    payouts.listPage({ attention: true, ...(apps && { apps }) }, { limit: PAYOUTS_PER_PAGE, cursor }),
  );
  const isFirst = cursor === undefined;
  const [flagged, others, stopped] = await Promise.all([
    Promise.all(
      page.payouts.map((one) => readable(visit.caller, () => payoutItem(desk, visit, one), payoutName(one))),
    ),
    isFirst ? otherItems(desk, visit) : [],
    isFirst && !isScoped(visit.caller) ? workflowItems(desk, apps) : [],
  ]);
  const items = [...stopped, ...flagged, ...others].filter((one) => one !== undefined);
  // A scope may leave nothing of a page.
  return { content: listOf(items), nextCursor: page.nextCursor };
}

/** A name stands for an item that cannot be read now. */
function listOf(items: readonly (Item | string)[]): Html {
  const shown = items.filter((one) => typeof one !== 'string');
  const unread = items.filter((one) => typeof one === 'string');
  if (items.length === 0) return html`<p class="faint">Nothing needs attention.</p>`;
  return html`<ul class="cards">${shown.map(card)}</ul>${
    unread.length > 0 &&
    html`<p class="warning">These could not be read now, because Temporal or a worker does not respond: ${unread.join(', ')}</p>`
  }`;
}

function card({ kind, what, name, href, sentence, reasons }: Item): Html {
  return html`<li class="card"><h3>${what} ${href === undefined ? name : html`<a href="${href}">${name}</a>`}</h3>
${sentence !== undefined && html`<p>${sentence}</p>`}${attentionReasons(kind, reasons)}</li>`;
}

function payoutName({ phase, partnerOrderId }: ListedPayout): string {
  return `${phase === 'FOLLOW_UP' ? 'follow-up of payout' : 'payout'} ${partnerOrderId}`;
}

async function payoutItem(
  { client, service }: Desk,
  visit: Visit,
  one: ListedPayout,
): Promise<Item | undefined> {
  const { app, partnerOrderId } = one;
  const id = { app, partnerOrderId };
  const shown = { name: partnerOrderId, href: payoutLink(id) };
  if (one.phase === 'FOLLOW_UP') {
    if (isScoped(visit.caller)) await service.payoutStart(visit.caller, id);
    const found = await service.withTemporalDeadline(() => followUpResultOf(client, id));
    if (!found) return undefined;
    return { kind: 'followUp', what: 'After the end of payout', ...shown, reasons: followUpReasons(found) };
  }
  const { state } = await service.payout(visit.caller, id);
  const { sentence, needsAttention, reasons } = state;
  // The list may lag.
  if (!needsAttention) return undefined;
  return { kind: 'payout', what: 'Payout', ...shown, sentence, reasons };
}

async function otherItems(desk: Desk, visit: Visit): Promise<(Item | string | undefined)[]> {
  const apps = applicationsWithin(visit.caller);
  const query = [
    `WorkflowType IN (${quoteIds(Object.keys(OTHERS))}) AND PayoutNeedsAttention = true`,
    "ExecutionStatus = 'Running'",
    ...(apps ? [`PayoutApp IN (${quoteIds(apps)})`] : []),
  ].join(' AND ');
  const { runs } = await desk.service.withTemporalDeadline(() => listRunPage(desk.client, query, MAX_OTHERS));
  return Promise.all(
    runs.map((run) => {
      const { read, nameOf } = OTHERS[run.type] ?? UNKNOWN;
      return readable(visit.caller, () => read(desk, visit, run), nameOf(run));
    }),
  );
}

async function openingItem({ service }: Desk, visit: Visit, run: ListedRun): Promise<Item | undefined> {
  const id = { app: String(run.attribute('PayoutApp')), requestId: ownIdOf(run.workflowId) };
  const { state } = await service.receivingAccount(visit.caller, id);
  const { sentence, reasons } = state;
  const shown = { name: id.requestId, href: link('/desk/receiving-account', id) };
  return { kind: 'opening', what: 'Receiving account request', ...shown, sentence, reasons };
}

/** Tokens belong to users: a key that is limited to some does not see them. */
async function tokenItem({ client, service }: Desk, visit: Visit, run: ListedRun): Promise<Item | undefined> {
  if (isScoped(visit.caller)) return undefined;
  const handle = client.workflow.getHandle<WorkflowSignatures['tokenRenewal']>(run.workflowId);
  const state = await service.withTemporalDeadline(() => handle.query(tokenStateQuery));
  const name = `of ${state.openId === undefined ? `application ${state.app}` : `user ${state.openId}`}`;
  return {
    kind: 'token',
    what: `${label(state.kind)} token`,
    name,
    sentence: state.sentence,
    reasons: state.reasons,
  };
}

/** Endpoints belong to applications: their events are about every client. */
async function endpointItem(
  { client, service }: Desk,
  visit: Visit,
  run: ListedRun,
): Promise<Item | undefined> {
  if (isScoped(visit.caller)) return undefined;
  const handle = client.workflow.getHandle<WorkflowSignatures['eventDelivery']>(run.workflowId);
  const { app, endpoint, sentence, waiting, reasons } = await service.withTemporalDeadline(() =>
    handle.query(endpointStateQuery),
  );
  return {
    kind: 'endpoint',
    what: 'Endpoint',
    name: `${endpoint} of application ${app}`,
    reasons,
    sentence: `${sentence} ${waiting} ${waiting === 1 ? 'event waits' : 'events wait'}.`,
  };
}

interface Other {
  read(desk: Desk, visit: Visit, run: ListedRun): Promise<Item | undefined>;
  /** If it cannot be read now. */
  nameOf(run: ListedRun): string;
}

/** By workflow type. */
const OTHERS: Readonly<Record<string, Other>> = {
  openReceivingAccount: {
    read: openingItem,
    nameOf: ({ workflowId }) => `receiving account request ${ownIdOf(workflowId)}`,
  },
  tokenRenewal: { read: tokenItem, nameOf: () => 'a token' },
  eventDelivery: { read: endpointItem, nameOf: ({ workflowId }) => `endpoint ${ownIdOf(workflowId)}` },
};
const UNKNOWN: Other = { read: async () => undefined, nameOf: ({ workflowId }) => workflowId };

/** A workflow that belongs to no application is shown to everybody, as it may concern every payout. */
async function workflowItems(
  { findings }: Desk,
  apps: readonly string[] | undefined,
): Promise<(Item | string)[]> {
  const found = await findings().catch(() => undefined);
  if (!found) return ['stuck workflows'];
  return found.flatMap(({ workflowId, reason }): Item[] => {
    const app = applicationOf(workflowId);
    if (app !== undefined && apps && !apps.includes(app)) return [];
    const payout = payoutOf(workflowId) ?? payoutOfFollowUp(workflowId);
    const shown = payout
      ? { what: 'Payout', name: payout.partnerOrderId, href: payoutLink(payout) }
      : { what: 'Workflow', name: workflowId };
    return [{ kind: 'workflow', ...shown, reasons: [reason] }];
  });
}

/** Workflows that cannot continue: stuck ones, and those that the last reconciliation did not start again. */
export async function findingsOf(client: Client, environment: string): Promise<Finding[]> {
  const [failing = [], report] = await Promise.all([
    knownFailingWorkflows(client, environment),
    lastReconciliation(client, environment),
  ]);
  return [
    ...failing.map((one): Finding => {
      const message = `${describeFailingWorkflow(one)}.`;
      return { workflowId: one.workflowId, reason: { code: WORKFLOW_TASK_FAILS, message } };
    }),
    ...(report?.notReconciled ?? []).map(({ workflowId, reason }): Finding => {
      return { workflowId, reason: { code: 'NOT_RECONCILED', message: reason } };
    }),
  ];
}
