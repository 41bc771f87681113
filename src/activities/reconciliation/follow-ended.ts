/** Starts the follow-ups of payouts that may have an order, and restarts stopped follow-ups (H22). */
import type { Client } from '@temporalio/client';
import { tsToMs } from '@temporalio/common/lib/time.js';
import { endedPayout, notifyFollowUp, startFollowUp } from '../../client/follow-ups.ts';
import { OUTCOMES } from '../../contract/codes.ts';
import {
  payoutFollowUpWorkflowId,
  payoutOf,
  payoutOfFollowUp,
  payoutWorkflowId,
} from '../../contract/ids.ts';
import type { FollowUpRequest } from '../../contract/reconciliation.ts';
import { isoTime } from '../../domain/time.ts';
import { inParallel, Pace } from '../../runtime/runtime.ts';
import { isGone, isRetryableTemporalError, unlessGone } from '../../temporal/client-errors.ts';
import { readStartEvent } from '../../temporal/histories.ts';
import type { ListedRun } from '../../temporal/visibility.ts';
import {
  forEachReadable,
  type LookedAtClosed,
  type Reconciler,
  unlessUnreadable,
} from './restart-stopped.ts';

/** Each start takes Temporal some writes, which must not delay payouts. */
const START_EVERY_MS = 20;

type Follower = Pick<Reconciler, 'client' | 'clock' | 'environment' | 'apps'>;

interface Search extends Follower {
  nowMs: number;
  pace: Pace;
}

const WITH_ORDER: readonly unknown[] = OUTCOMES.filter((outcome) => outcome !== 'NOT_CREATED');

/** `runs`: of payouts that have completed, and of follow-ups that were stopped. */
export async function followEnded(
  parts: Follower,
  runs: readonly ListedRun[],
  nowMs: number,
  found: LookedAtClosed,
): Promise<void> {
  const follower = { ...parts, nowMs, pace: new Pace(parts.clock, START_EVERY_MS) };
  const served = runs.filter(({ workflowId }) => parts.apps.has(appOf(workflowId)));
  await followAll(await mayHaveOrder(served, found), found, (run) => follow(follower, run));
  const stopped = served.filter(({ type }) => type === 'payoutFollowUp');
  await followAll(stopped, found, (run) => followAgain(follower, run));
}

function appOf(workflowId: string): string {
  return (payoutOf(workflowId) ?? payoutOfFollowUp(workflowId))?.app ?? '';
}

/** The payouts with an order, and those whose memo says that a create was sent: their order may still appear. */
async function mayHaveOrder(runs: readonly ListedRun[], found: LookedAtClosed): Promise<ListedRun[]> {
  const may = await inParallel(runs, async (run) => {
    if (run.type !== 'payout') return false;
    const outcome = run.attribute('PayoutOutcome');
    if (outcome !== 'NOT_CREATED') return WITH_ORDER.includes(outcome);
    const read = await unlessUnreadable(async () => ({ memo: await run.memo() }));
    if (read === 'not-ours') return false;
    if ('memo' in read) return read.memo['createSent'] === true;
    found.unresolved.push({ workflowId: run.workflowId, reason: read.reason });
    return false;
  });
  return runs.filter((_run, at) => may[at]);
}

async function followAll(
  runs: readonly ListedRun[],
  found: LookedAtClosed,
  one: (run: ListedRun) => Promise<'started' | 'not-ours'>,
): Promise<void> {
  // The newest run is listed first.
  const byId = new Map(runs.toReversed().map((run) => [run.workflowId, run]));
  const verdicts = await forEachReadable([...byId.keys()], found.unresolved, async (id) => {
    const run = byId.get(id);
    return run ? one(run) : 'not-ours';
  });
  found.followUpsStarted += verdicts.filter((verdict) => verdict === 'started').length;
}

async function follow(
  follower: Search,
  { workflowId, closedMs = 0 }: ListedRun,
): Promise<'started' | 'not-ours'> {
  const { client, nowMs } = follower;
  const startedMs = await followedSinceMs(client, workflowId);
  if (startedMs !== undefined && startedMs >= closedMs) return 'not-ours';
  const ended = await endedHere(follower, workflowId);
  if (!ended) return 'not-ours';
  if (await startFollowUp(client, ended)) return 'started';
  if (await hasFollowUp(client, ended)) return 'not-ours';
  // Makes an open follow-up check, which finds the new end. A closed one is started.
  await notifyFollowUp(client, ended, { receivedAt: isoTime(nowMs) });
  return 'started';
}

/** Restarts a follow-up that was stopped before its last check. It finds again what it had found. */
async function followAgain(follower: Search, { workflowId }: ListedRun): Promise<'started' | 'not-ours'> {
  const { app, partnerOrderId } = payoutOfFollowUp(workflowId) ?? { app: '', partnerOrderId: '' };
  const ended = await endedHere(follower, payoutWorkflowId(app, partnerOrderId));
  return ended && (await startFollowUp(follower.client, ended, true)) ? 'started' : 'not-ours';
}

async function endedHere(
  { client, environment, pace }: Search,
  workflowId: string,
): Promise<FollowUpRequest | undefined> {
  await pace.turn();
  const ended = await endedPayout(client, workflowId);
  return ended && (ended.environment ?? environment) === environment ? ended : undefined;
}

/**
 * When the last run of the payout's follow-up started; undefined if there is none. Most payouts that are looked at again
 * have one, so this reads as little as possible, and no list. Decodes nothing.
 */
function followedSinceMs(client: Client, workflowId: string): Promise<number | undefined> {
  const { app = '', partnerOrderId = '' } = payoutOf(workflowId) ?? {};
  return unlessGone(async () => {
    const { workflowExecutionInfo: info } = await client.workflowService.describeWorkflowExecution({
      namespace: client.options.namespace,
      execution: { workflowId: payoutFollowUpWorkflowId(app, partnerOrderId) },
    });
    return info?.startTime ? tsToMs(info.startTime) : 0;
  });
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
  return (
    typeof argument === 'object' &&
    argument !== null &&
    'endedAtMs' in argument &&
    argument.endedAtMs === endedAtMs
  );
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

/** The end of the payout as it is now. For a follow-up before its checks: it must not compare with the result of an earlier end. */
export async function payoutEnd(
  { client }: Pick<Follower, 'client'>,
  { app, partnerOrderId }: EndedWhich,
): Promise<PayoutEnd> {
  const workflowId = payoutWorkflowId(app, partnerOrderId);
  try {
    const { status } = await client.workflow.getHandle(workflowId).describe();
    if (status.name === 'RUNNING' || status.name === 'PAUSED') return { kind: 'open' };
    const ended = await endedPayout(client, workflowId);
    return ended ? { kind: 'ended', ended } : { kind: 'unknown' };
  } catch (error) {
    if (isGone(error) || !isRetryableTemporalError(error)) return { kind: 'unknown' };
    throw error;
  }
}
