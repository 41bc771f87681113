/**
 * Finds payouts that have ended with an order, or without one after a create was sent, and starts the follow-up of each,
 * again where it was stopped (H22).
 */

import { endedPayout } from '../../client/ended-payout.ts';
import { startFollowUp } from '../../client/follow-ups.ts';
import {
  payoutFollowUpWorkflowId,
  payoutOf,
  payoutOfFollowUp,
  payoutWorkflowId,
} from '../../contract/ids.ts';
import { OUTCOMES, type PayoutOutcome } from '../../domain/payout.ts';
import { STOPPED_STATUSES } from '../../temporal/stopped.ts';
import { type ListedRun, listRunPages, quoteIds } from '../../temporal/visibility.ts';
import { inParallel } from '../shared/in-parallel.ts';
import type { Adopter } from './adopt-stopped.ts';
import { unlessUnreadable } from './left-alone.ts';
import type { Followed, LookFor } from './reconcile-types.ts';

const MOST_AT_ONCE = 500;
const PAGE = 100;
const STARTS_AT_ONCE = 8;

export interface Follower extends Pick<Adopter, 'client' | 'clock' | 'environment' | 'apps'> {
  /** What ended longer ago than this is not dug out by the first reconciliation there ever was. */
  firstLooksBackMs: number;
}

export async function followEnded(follower: Follower, { closedAfterMs }: LookFor): Promise<Followed> {
  const sinceMs = closedAfterMs > 0 ? closedAfterMs : follower.clock.wallMs() - follower.firstLooksBackMs;
  const found: Followed = { started: 0, leftAlone: [], more: false };
  await followNew(follower, sinceMs, found);
  if (!found.more) await followAgain(follower, sinceMs, found);
  return found;
}

async function followNew(follower: Follower, sinceMs: number, found: Followed): Promise<void> {
  const withOrder = OUTCOMES.filter((outcome) => outcome !== 'NOT_CREATED');
  await followCompleted(follower, sinceMs, withOrder, found);
  if (!found.more) await followCompleted(follower, sinceMs, ['NOT_CREATED'], found);
}

async function followCompleted(
  follower: Follower,
  sinceMs: number,
  outcomes: readonly PayoutOutcome[],
  found: Followed,
): Promise<void> {
  const query =
    `WorkflowType = 'payout' AND ExecutionStatus = 'Completed'` +
    ` AND PayoutOutcome IN (${outcomes.map((outcome) => `'${outcome}'`).join(', ')})` +
    ` AND CloseTime >= '${new Date(sinceMs).toISOString()}'`;
  for await (const runs of listRunPages(follower.client, query, PAGE)) {
    if (found.started >= MOST_AT_ONCE) {
      found.more = true;
      return;
    }
    const missing = await withoutFollowUp(follower, runs);
    const wanted = outcomes.includes('NOT_CREATED') ? await afterASend(missing, found) : missing;
    await followAll(
      follower,
      wanted.map(({ workflowId }) => workflowId),
      false,
      found,
    );
  }
}

/** Payouts that ended without an order although a create was sent, by what they wrote down: an order may still turn up. */
async function afterASend(runs: readonly ListedRun[], found: Followed): Promise<ListedRun[]> {
  const sent = await inParallel(STARTS_AT_ONCE, runs, async (run) => {
    const read = await unlessUnreadable(async () => ({ memo: await run.memo() }));
    if (read === 'not-ours') return false;
    if ('memo' in read) return read.memo['createSent'] === true;
    found.leftAlone.push({ workflowId: run.workflowId, why: read.why });
    return false;
  });
  return runs.filter((_run, at) => sent[at]);
}

/** Those that were stopped before their last look: they begin anew, for what they had seen is still to be seen. */
async function followAgain(follower: Follower, sinceMs: number, found: Followed): Promise<void> {
  const query =
    `WorkflowType = 'payoutFollowUp' AND ExecutionStatus IN ${STOPPED_STATUSES}` +
    ` AND CloseTime >= '${new Date(sinceMs).toISOString()}'`;
  for await (const runs of listRunPages(follower.client, query, PAGE)) {
    const payouts = runs.map(({ workflowId }) => payoutOfFollowUp(workflowId));
    const served = payouts.flatMap((one) => (one && follower.apps.has(one.app) ? [one] : []));
    const ids = served.map(({ app, partnerOrderId }) => payoutWorkflowId(app, partnerOrderId));
    await followAll(follower, [...new Set(ids)], true, found);
  }
}

async function followAll(
  follower: Follower,
  payouts: readonly string[],
  again: boolean,
  found: Followed,
): Promise<void> {
  await inParallel(STARTS_AT_ONCE, payouts, async (workflowId) => {
    const verdict = await unlessUnreadable(() => followOne(follower, workflowId, again));
    if (verdict === 'started') found.started += 1;
    else if (verdict !== 'not-ours') found.leftAlone.push({ workflowId, why: verdict.why });
  });
}

/** Payouts that were seen by an earlier reconciliation have one: one query tells. */
async function withoutFollowUp({ client, apps }: Follower, runs: readonly ListedRun[]): Promise<ListedRun[]> {
  const payoutByFollowUp = new Map<string, ListedRun>();
  for (const run of runs) {
    const { app = '', partnerOrderId = '' } = payoutOf(run.workflowId) ?? {};
    if (apps.has(app)) payoutByFollowUp.set(payoutFollowUpWorkflowId(app, partnerOrderId), run);
  }
  const ids = quoteIds([...payoutByFollowUp.keys()]);
  if (ids === '') return [];
  const query = `WorkflowType = 'payoutFollowUp' AND WorkflowId IN (${ids})`;
  for await (const known of listRunPages(client, query, PAGE))
    for (const { workflowId } of known) payoutByFollowUp.delete(workflowId);
  return [...payoutByFollowUp.values()];
}

async function followOne(
  { client, clock, environment }: Follower,
  workflowId: string,
  again: boolean,
): Promise<'started' | 'not-ours'> {
  const ended = await endedPayout(client, workflowId, clock);
  const isOurs = ended && (ended.environment ?? environment) === environment;
  return isOurs && (await startFollowUp(client, ended, again)) ? 'started' : 'not-ours';
}
