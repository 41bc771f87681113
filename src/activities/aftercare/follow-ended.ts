/** Starts the follow-ups of payouts that may have an order, and restarts stopped follow-ups (H22). */
import type { Client } from '@temporalio/client';
import { endedPayout, notifyFollowUp, startFollowUp } from '../../client/follow-ups.ts';
import {
  payoutFollowUpWorkflowId,
  payoutOf,
  payoutOfFollowUp,
  payoutWorkflowId,
} from '../../contract/ids.ts';
import type { FollowUpRequest } from '../../domain/follow-up.ts';
import { OUTCOMES, type PayoutOutcome } from '../../domain/payout.ts';
import { isoTime } from '../../domain/time.ts';
import { inParallel } from '../../surroundings/in-parallel.ts';
import { isGone, isRetryableTemporalError, unlessGone } from '../../temporal/client-errors.ts';
import { readStartEvent } from '../../temporal/histories.ts';
import { type ListedRun, listRunPages, quoteIds, STOPPED_STATUSES } from '../../temporal/visibility.ts';
import type { EndedWhich, LookFor, PayoutEnd, StartedFollowUps } from './aftercare-types.ts';
import type { Reconciler } from './restart-stopped.ts';
import { forEachReadable, unlessUnreadable } from './unreadable.ts';

const MAX_STARTS = 500;
const PAGE_SIZE = 100;

/** The follow-up of an ended payout: there is none, it was stopped, or it belongs to an earlier end. */
type FollowUpState = 'new' | 'stopped' | 'outdated';

export interface Follower extends Pick<Reconciler, 'client' | 'environment' | 'apps'> {
  /** How far back the very first reconciliation searches. */
  firstLookbackMs: number;
}

type Search = Follower & Pick<LookFor, 'nowMs'>;

/** From when on ended workflows are searched. */
export function searchedSinceMs(
  { firstLookbackMs }: Pick<Follower, 'firstLookbackMs'>,
  { closedAfterMs, nowMs }: LookFor,
): number {
  return closedAfterMs > 0 ? closedAfterMs : nowMs - firstLookbackMs;
}

export async function startFollowUps(parts: Follower, look: LookFor): Promise<StartedFollowUps> {
  const { nowMs } = look;
  const follower = { ...parts, nowMs };
  const sinceMs = searchedSinceMs(follower, look);
  const found: StartedFollowUps = { started: 0, notReconciled: [], more: false };
  const withOrder = OUTCOMES.filter((outcome) => outcome !== 'NOT_CREATED');
  await followCompleted(follower, sinceMs, withOrder, found);
  if (!found.more) await followCompleted(follower, sinceMs, ['NOT_CREATED'], found);
  if (!found.more) await followAgain(follower, sinceMs, found);
  return found;
}

async function followCompleted(
  follower: Search,
  sinceMs: number,
  outcomes: readonly PayoutOutcome[],
  found: StartedFollowUps,
): Promise<void> {
  const query =
    `WorkflowType = 'payout' AND ExecutionStatus = 'Completed'` +
    ` AND PayoutOutcome IN (${outcomes.map((outcome) => `'${outcome}'`).join(', ')})` +
    ` AND CloseTime >= '${new Date(sinceMs).toISOString()}'`;
  for await (const runs of listRunPages(follower.client, query, PAGE_SIZE)) {
    if (found.started >= MAX_STARTS) {
      found.more = true;
      return;
    }
    const { missing, outdated } = await followUpsOf(follower, runs);
    for (const [unfollowed, how] of [
      [missing, 'new'],
      [outdated, 'outdated'],
    ] as const) {
      const wanted = outcomes.includes('NOT_CREATED') ? await withSend(unfollowed, found) : unfollowed;
      const ids = wanted.map(({ workflowId }) => workflowId);
      await followAll(follower, ids, how, found);
    }
  }
}

/** The payouts whose memo says that a create was sent: their order may still appear. */
async function withSend(runs: readonly ListedRun[], found: StartedFollowUps): Promise<ListedRun[]> {
  const sent = await inParallel(runs, async (run) => {
    const read = await unlessUnreadable(async () => ({ memo: await run.memo() }));
    if (read === 'not-ours') return false;
    if ('memo' in read) return read.memo['createSent'] === true;
    found.notReconciled.push({ workflowId: run.workflowId, reason: read.reason });
    return false;
  });
  return runs.filter((_run, at) => sent[at]);
}

/** Restarts follow-ups that were stopped before their last check. They find again what they had found. */
async function followAgain(follower: Search, sinceMs: number, found: StartedFollowUps): Promise<void> {
  const query =
    `WorkflowType = 'payoutFollowUp' AND ExecutionStatus IN ${STOPPED_STATUSES}` +
    ` AND CloseTime >= '${new Date(sinceMs).toISOString()}'`;
  for await (const runs of listRunPages(follower.client, query, PAGE_SIZE)) {
    const payouts = runs.map(({ workflowId }) => payoutOfFollowUp(workflowId));
    const served = payouts.flatMap((one) => (one && follower.apps.has(one.app) ? [one] : []));
    const ids = served.map(({ app, partnerOrderId }) => payoutWorkflowId(app, partnerOrderId));
    await followAll(follower, [...new Set(ids)], 'stopped', found);
  }
}

async function followAll(
  follower: Search,
  payouts: readonly string[],
  how: FollowUpState,
  found: StartedFollowUps,
): Promise<void> {
  const verdicts = await forEachReadable(payouts, found.notReconciled, (id) => followOne(follower, id, how));
  found.started += verdicts.filter((verdict) => verdict === 'started').length;
}

/**
 * The payouts without a follow-up, and those whose follow-ups all started before this end, because a Workflow Reset opened
 * the payout again: one query for all.
 */
async function followUpsOf(
  { client, apps }: Follower,
  runs: readonly ListedRun[],
): Promise<{ missing: ListedRun[]; outdated: ListedRun[] }> {
  const payoutByFollowUp = new Map<string, ListedRun>();
  for (const run of runs) {
    const { app = '', partnerOrderId = '' } = payoutOf(run.workflowId) ?? {};
    const id = payoutFollowUpWorkflowId(app, partnerOrderId);
    // A payout that ended again after a reset has several completed runs.
    const isLast = (run.closedMs ?? 0) >= (payoutByFollowUp.get(id)?.closedMs ?? 0);
    if (apps.has(app) && isLast) payoutByFollowUp.set(id, run);
  }
  const ids = quoteIds([...payoutByFollowUp.keys()]);
  if (ids === '') return { missing: [], outdated: [] };
  const lastStartMs = new Map<string, number>();
  const query = `WorkflowType = 'payoutFollowUp' AND WorkflowId IN (${ids})`;
  for await (const known of listRunPages(client, query, PAGE_SIZE))
    for (const { workflowId, startedMs } of known)
      lastStartMs.set(workflowId, Math.max(startedMs, lastStartMs.get(workflowId) ?? 0));
  const all = [...payoutByFollowUp].map(([id, run]) => ({ run, startedMs: lastStartMs.get(id) }));
  return {
    missing: all.filter(({ startedMs }) => startedMs === undefined).map(({ run }) => run),
    outdated: all
      .filter(({ run, startedMs }) => startedMs !== undefined && startedMs < (run.closedMs ?? 0))
      .map(({ run }) => run),
  };
}

async function followOne(
  { client, environment, nowMs }: Search,
  workflowId: string,
  how: FollowUpState,
): Promise<'started' | 'not-ours'> {
  const ended = await endedPayout(client, workflowId);
  if (!ended || (ended.environment ?? environment) !== environment) return 'not-ours';
  if (how !== 'outdated')
    return (await startFollowUp(client, ended, how === 'stopped')) ? 'started' : 'not-ours';
  if (await hasFollowUp(client, ended)) return 'not-ours';
  // Makes an open follow-up check, which finds the new end. A closed one is started.
  await notifyFollowUp(client, ended, { receivedAt: isoTime(nowMs) });
  return 'started';
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

/** For a follow-up before its checks: it must not compare with the result of an earlier end. */
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
