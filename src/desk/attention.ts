/**
 * Everything that needs attention, in words: flagged payouts, follow-ups, receiving account requests, tokens and endpoints of
 * events; and workflows that cannot continue.
 */
import type { Client } from '@temporalio/client';
import { followUpResultOf, lastFoundMs } from '../client/follow-ups.ts';
import type { Caller } from '../config/callers.ts';
import type { AttentionKind } from '../contract/attention-codes.ts';
import { applicationOf, ownIdOf, payoutOf, payoutOfFollowUp } from '../contract/ids.ts';
import type { ListedPayout, PayoutPage } from '../contract/lists.ts';
import { endpointStateQuery, tokenStateQuery, type WorkflowSignatures } from '../contract/workflows.ts';
import { isScoped } from '../domain/permissions.ts';
import { describeFailingWorkflow, WORKFLOW_TASK_FAILS } from '../domain/reconciliation.ts';
import { followUpReasons } from '../domain/reconciliation-follow-up.ts';
import { isoTime } from '../domain/time.ts';
import { applicationsWithin, may, visibleRows } from '../service/permissions.ts';
import { knownFailingWorkflows, lastReconciliation } from '../temporal/failing-workflows.ts';
import { type ListedRun, listRunPages, quoteIds } from '../temporal/visibility.ts';
import { returnedOf, returnedText } from './amounts.ts';
import { type Desk, type Finding, PAYOUTS_PER_PAGE, readable } from './context.ts';
import { isIn } from './counts.ts';
import {
  beneficiary,
  briefReasons,
  type CodedMessage,
  duration,
  hidden,
  html,
  label,
  link,
  money,
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
  listed?: ListedPayout;
  /** A payout that has finished: somebody can acknowledge its flags. */
  isFinished?: boolean;
  /** When a follow-up had found what is shown. Unix milliseconds. */
  foundMs?: number;
}

export interface RowPage<Row = readonly unknown[]> {
  shown: readonly Row[];
  /** The names of what cannot be read now, such as payouts without a worker. */
  unread: readonly unknown[];
  nextCursor?: string | undefined;
}

/** Without the payouts in a decision, which the inbox shows with their own reasons. */
export async function attentionRows(desk: Desk, visit: Visit, cursor: string | undefined): Promise<RowPage> {
  const { caller } = visit;
  const apps = applicationsWithin(caller);
  const page = await desk.service.withTemporalDeadline(() =>
    isScoped(caller) ? ownPage(desk, caller, apps, cursor) : flaggedPage(desk, apps, cursor),
  );
  const isFirst = cursor === undefined;
  const [flagged, others, stopped] = await Promise.all([
    Promise.all(
      page.payouts.map((one) => readable(caller, () => payoutItem(desk, caller, one), payoutName(one))),
    ),
    isFirst ? otherItems(desk, caller, apps) : [],
    isFirst && !isScoped(caller) ? workflowItems(desk, apps) : [],
  ]);
  const items = [...stopped, ...flagged, ...others].filter((one) => one !== undefined);
  return {
    shown: items
      .filter((one) => typeof one !== 'string')
      .map((one) => row(one, visit, desk.runtime.clock.wallMs())),
    unread: items.filter((one) => typeof one === 'string'),
    nextCursor: page.nextCursor,
  };
}

async function flaggedPage({ service }: Desk, apps: string[] | undefined, cursor: string | undefined) {
  const page = await service.payouts.listPage({ attention: true, apps }, { limit: PAYOUTS_PER_PAGE, cursor });
  return { ...page, payouts: page.payouts.filter((one) => isIn('attention', one)) };
}

/**
 * Of a limited key. All are read: a page of Temporal's would tell how many of others are between its own. A page begins
 * after the place of the last row of the one before it.
 */
async function ownPage(
  { service }: Desk,
  caller: Caller,
  apps: string[] | undefined,
  cursor: string | undefined,
): Promise<PayoutPage> {
  const flagged: ListedPayout[] = [];
  for await (const one of service.payouts.list({ attention: true, apps }))
    if (isIn('attention', one)) flagged.push(one);
  const own = visibleRows(caller, flagged);
  own.sort((one, other) => (placeOf(one) > placeOf(other) ? -1 : 1));
  const rest = cursor === undefined ? own : own.filter((one) => placeOf(one) < cursor);
  const payouts = rest.slice(0, PAYOUTS_PER_PAGE);
  const last = payouts.at(-1);
  return { payouts, ...(rest.length > payouts.length && last && { nextCursor: placeOf(last) }) };
}

function placeOf({ startedAt, app, partnerOrderId, phase }: ListedPayout): string {
  return `${startedAt} ${app} ${partnerOrderId} ${phase === 'FOLLOW_UP' ? 1 : 0}`;
}

export const ATTENTION_HEAD = ['What', 'Beneficiary', 'Amount#', 'Why, and what to do', 'Age', 'Action#'];

function row(
  { kind, what, name, href, sentence, reasons, listed, isFinished, foundMs }: Item,
  visit: Visit,
  nowMs: number,
): unknown[] {
  const age =
    listed &&
    duration(nowMs - Date.parse(listed.startedAt))
      .split(' ')
      .slice(0, 2)
      .join(' ');
  return [
    html`${what} ${href === undefined ? name : html`<a href="${href}">${name}</a>`}`,
    listed && beneficiary(listed),
    money(listed?.instructedAmount),
    briefReasons(kind, reasons, sentence),
    age,
    isFinished && listed && may(visit.caller, 'acknowledge') && acknowledgeButton(visit, listed, foundMs),
  ];
}

function acknowledgeButton({ formToken }: Visit, { app, partnerOrderId }: ListedPayout, foundMs = 0) {
  const readAt = isoTime(foundMs);
  return html`<form method="post" action="/desk/payouts/acknowledge">${hidden({ formToken, app, partnerOrderId, readAt, back: 'inbox' })}<button class="plain">Acknowledge <span class="visually-hidden">the flags of ${partnerOrderId}</span></button></form>`;
}

function payoutName({ phase, partnerOrderId }: ListedPayout): string {
  return `${phase === 'FOLLOW_UP' ? 'follow-up of payout' : 'payout'} ${partnerOrderId}`;
}

async function payoutItem(
  { client, service }: Desk,
  caller: Caller,
  one: ListedPayout,
): Promise<Item | undefined> {
  const { app, partnerOrderId } = one;
  const id = { app, partnerOrderId };
  const shown = { name: partnerOrderId, href: payoutLink(id, 'inbox'), listed: one };
  if (one.phase === 'FOLLOW_UP') {
    if (isScoped(caller)) await service.payoutStart(caller, id);
    const found = await service.withTemporalDeadline(() => followUpResultOf(client, id));
    if (!found) return undefined;
    return {
      ...{ kind: 'followUp', what: 'Follow-up of payout', isFinished: true },
      ...shown,
      reasons: followUpReasons(found),
      foundMs: lastFoundMs(found),
    };
  }
  const { state } = await service.payout(caller, id);
  const { needsAttention, reasons } = state;
  const returned = returnedOf(state, []);
  const sentence = returned ? returnedText(state, returned) : state.sentence;
  // The list may lag.
  if (!needsAttention) return undefined;
  return { kind: 'payout', what: 'Payout', ...shown, sentence, reasons, isFinished: state.phase === 'DONE' };
}

type ReadItem = (desk: Desk, caller: Caller, run: ListedRun) => Promise<Item>;

const OTHERS: Readonly<Record<string, ReadItem>> = {
  openReceivingAccount: openingItem,
  tokenRenewal: tokenItem,
  eventDelivery: endpointItem,
};

/** A key that is limited to clients, payers or users sees no tokens and no endpoints, which concern others too. */
async function otherItems(
  desk: Desk,
  caller: Caller,
  apps: readonly string[] | undefined,
): Promise<(Item | string)[]> {
  const types = isScoped(caller) ? ['openReceivingAccount'] : Object.keys(OTHERS);
  const within = apps ? ` AND PayoutApp IN (${quoteIds(apps)})` : '';
  const query = `WorkflowType IN (${quoteIds(types)}) AND PayoutNeedsAttention = true AND ExecutionStatus = 'Running'${within}`;
  return desk.service.withTemporalDeadline(async () => {
    const items: (Item | string)[] = [];
    for await (const runs of listRunPages(desk.client, query, MAX_OTHERS)) {
      const some = await Promise.all(
        runs.map((run) =>
          readable(caller, async () => OTHERS[run.type]?.(desk, caller, run), run.workflowId),
        ),
      );
      items.push(...some.filter((one) => one !== undefined));
      // Those of others leave no room on a page for the own ones of a limited key.
      if (!isScoped(caller) || items.length >= MAX_OTHERS) break;
    }
    return items.slice(0, MAX_OTHERS);
  });
}

async function openingItem({ service }: Desk, caller: Caller, run: ListedRun): Promise<Item> {
  const id = { app: String(run.attribute('PayoutApp')), requestId: ownIdOf(run.workflowId) };
  const { sentence, reasons } = (await service.receivingAccount(caller, id)).state;
  const shown = { name: id.requestId, href: link('/desk/receiving-account', id) };
  return { kind: 'receivingAccount', what: 'Receiving account request', ...shown, sentence, reasons };
}

async function tokenItem({ client, service }: Desk, _caller: Caller, run: ListedRun): Promise<Item> {
  const handle = client.workflow.getHandle<WorkflowSignatures['tokenRenewal']>(run.workflowId);
  const state = await service.withTemporalDeadline(() => handle.query(tokenStateQuery));
  const { kind, app, openId, sentence, reasons } = state;
  const name = `of ${openId === undefined ? `application ${app}` : `user ${openId}`}`;
  return { kind: 'token', what: `${label(kind)} token`, name, sentence, reasons };
}

async function endpointItem({ client, service }: Desk, _caller: Caller, run: ListedRun): Promise<Item> {
  const handle = client.workflow.getHandle<WorkflowSignatures['eventDelivery']>(run.workflowId);
  const state = await service.withTemporalDeadline(() => handle.query(endpointStateQuery));
  const { app, endpoint, waiting, reasons } = state;
  const sentence = `${state.sentence} ${waiting} ${waiting === 1 ? 'event waits' : 'events wait'}.`;
  return { kind: 'endpoint', what: 'Endpoint', name: `${endpoint} of application ${app}`, sentence, reasons };
}

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
      ? { what: 'Payout', name: payout.partnerOrderId, href: payoutLink(payout, 'inbox') }
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
