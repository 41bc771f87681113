/** Starts the follow-ups of payouts that may have an order, and restarts stopped follow-ups (H22). */
import type { Client } from '@temporalio/client';
import { z } from 'zod';
import { type EndedPayout, endedPayout, notifyFollowUp, startFollowUp } from '../../client/follow-ups.ts';
import { OUTCOMES } from '../../contract/codes.ts';
import {
  payoutFollowUpWorkflowId,
  payoutOf,
  payoutOfFollowUp,
  payoutWorkflowId,
} from '../../contract/ids.ts';
import { saysCreateSent } from '../../contract/memo.ts';
import type { FollowUpRequest } from '../../contract/reconciliation.ts';
import { isoTime } from '../../domain/time.ts';
import { Pace } from '../../runtime/runtime.ts';
import { isGone, isRetryableTemporalError, unlessGone } from '../../temporal/client-errors.ts';
import { readStartEvent } from '../../temporal/histories.ts';
import { describedRun, type ListedRun } from '../../temporal/visibility.ts';
import { forEachReadable, type LookedAtClosed, type Reconciler, type Verdict } from './restart-stopped.ts';

/** Each start takes Temporal some writes, which must not delay payouts. */
const START_EVERY_MS = 20;

interface Search extends Reconciler {
  nowMs: number;
  pace: Pace;
}

const WITH_ORDER: readonly unknown[] = OUTCOMES.filter((outcome) => outcome !== 'NOT_CREATED');

/** `runs`: of payouts that have completed, and of follow-ups that were stopped. */
export async function followEnded(
  reconciler: Reconciler,
  runs: readonly ListedRun[],
  nowMs: number,
  found: LookedAtClosed,
): Promise<void> {
  const search = { ...reconciler, nowMs, pace: new Pace(reconciler.clock, START_EVERY_MS) };
  const served = runs.filter(({ workflowId }) => reconciler.apps.has(appOf(workflowId)));
  found.followUpsStarted += await forEachReadable(served, found.unresolved, async (run) => {
    if (run.type === 'payoutFollowUp') return followAgain(search, run);
    return (await mayHaveOrder(run)) ? follow(search, run) : 'nothing';
  });
}

function appOf(workflowId: string): string {
  return (payoutOf(workflowId) ?? payoutOfFollowUp(workflowId))?.app ?? '';
}

/** Whether the payout has an order, or its memo says that a create call was sent: its order may still appear. */
async function mayHaveOrder(run: ListedRun): Promise<boolean> {
  const outcome = run.attribute('PayoutOutcome');
  return outcome === 'NOT_CREATED' ? saysCreateSent(await run.memo()) : WITH_ORDER.includes(outcome);
}

async function follow(search: Search, { workflowId, closedMs = 0 }: ListedRun): Promise<Verdict> {
  const { client, nowMs } = search;
  const startedMs = await followedSinceMs(client, workflowId);
  if (startedMs !== undefined && startedMs >= closedMs) return 'nothing';
  const ended = await endedHere(search, workflowId);
  if (!ended) return 'nothing';
  if (await startFollowUp(client, ended)) return 'done';
  if (await hasFollowUp(client, ended.request)) return 'nothing';
  // Makes an open follow-up check, which finds the new end. A closed one is started.
  await notifyFollowUp(client, ended, { receivedAt: isoTime(nowMs) });
  return 'done';
}

/** Restarts a follow-up that was stopped before its last check. It finds again what it had found. */
async function followAgain(search: Search, { workflowId }: ListedRun): Promise<Verdict> {
  const { app = '', partnerOrderId = '' } = payoutOfFollowUp(workflowId) ?? {};
  const ended = await endedHere(search, payoutWorkflowId(app, partnerOrderId));
  return ended && (await startFollowUp(search.client, ended, true)) ? 'done' : 'nothing';
}

async function endedHere(
  { client, environment, pace }: Search,
  workflowId: string,
): Promise<EndedPayout | undefined> {
  await pace.turn();
  const ended = await endedPayout(client, workflowId);
  return ended && (ended.request.environment ?? environment) === environment ? ended : undefined;
}

/**
 * When the last run of the payout's follow-up started; undefined if there is none. Most payouts that are looked at again
 * have one, so this reads as little as possible, and no list. Decodes nothing.
 */
async function followedSinceMs(client: Client, workflowId: string): Promise<number | undefined> {
  const { app = '', partnerOrderId = '' } = payoutOf(workflowId) ?? {};
  return (await describedRun(client, payoutFollowUpWorkflowId(app, partnerOrderId)))?.startedMs;
}

/**
 * Whether the last follow-up compares with this end. Start and close times are not proof: Temporal's hosts have different
 * clocks, and visibility lags behind a follow-up that continued with the new end.
 */
async function hasFollowUp(
  client: Client,
  { app, partnerOrderId, endedAtMs }: FollowUpRequest,
): Promise<boolean> {
  const workflowId = payoutFollowUpWorkflowId(app, partnerOrderId);
  const argument = await unlessGone(async () => {
    const { runId } = await client.workflow.getHandle(workflowId).describe();
    return (await readStartEvent(client, workflowId, runId)).argument;
  });
  return z.object({ endedAtMs: z.literal(endedAtMs) }).safeParse(argument).success;
}

export interface EndedWhich {
  environment: string;
  app: string;
  partnerOrderId: string;
}

type PayoutEnd =
  | { kind: 'ended'; ended: FollowUpRequest }
  /** A Workflow Reset has opened the payout again. */
  | { kind: 'open' }
  /** The payout's workflow was stopped, deleted or cannot be read. */
  | { kind: 'unknown' };

/** The end of the payout now. A follow-up reads it before its checks, so as not to compare with an earlier end. */
export async function payoutEnd(client: Client, { app, partnerOrderId }: EndedWhich): Promise<PayoutEnd> {
  const workflowId = payoutWorkflowId(app, partnerOrderId);
  try {
    const { status } = await client.workflow.getHandle(workflowId).describe();
    if (status.name === 'RUNNING' || status.name === 'PAUSED') return { kind: 'open' };
    const ended = await endedPayout(client, workflowId);
    return ended ? { kind: 'ended', ended: ended.request } : { kind: 'unknown' };
  } catch (error) {
    if (isGone(error) || !isRetryableTemporalError(error)) return { kind: 'unknown' };
    throw error;
  }
}
