/** Starts the follow-ups of payouts that may have an order, and restarts stopped follow-ups (H22). */
import { endedPayout, startFollowUp } from '../../client/follow-ups.ts';
import {
  payoutFollowUpWorkflowId,
  payoutOf,
  payoutOfFollowUp,
  payoutWorkflowId,
} from '../../contract/ids.ts';
import { OUTCOMES, type PayoutOutcome } from '../../domain/payout.ts';
import { type ListedRun, listRunPages, quoteIds, STOPPED_STATUSES } from '../../temporal/visibility.ts';
import { inParallel } from '../shared/in-parallel.ts';
import type { Adopter } from './adopt-stopped.ts';
import type { Followed, LookFor } from './aftercare-types.ts';
import { forEachReadable, unlessUnreadable } from './unreadable.ts';

const MAX_STARTS = 500;
const PAGE_SIZE = 100;

export interface Follower extends Pick<Adopter, 'client' | 'environment' | 'apps'> {
  /** How far back the very first reconciliation searches. */
  firstLooksBackMs: number;
}

export async function followEnded(follower: Follower, { closedAfterMs, nowMs }: LookFor): Promise<Followed> {
  const sinceMs = closedAfterMs > 0 ? closedAfterMs : nowMs - follower.firstLooksBackMs;
  const found: Followed = { started: 0, leftAlone: [], more: false };
  const withOrder = OUTCOMES.filter((outcome) => outcome !== 'NOT_CREATED');
  await followCompleted(follower, sinceMs, withOrder, found);
  if (!found.more) await followCompleted(follower, sinceMs, ['NOT_CREATED'], found);
  if (!found.more) await followAgain(follower, sinceMs, found);
  return found;
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
  for await (const runs of listRunPages(follower.client, query, PAGE_SIZE)) {
    if (found.started >= MAX_STARTS) {
      found.more = true;
      return;
    }
    const missing = await withoutFollowUp(follower, runs);
    const wanted = outcomes.includes('NOT_CREATED') ? await withSend(missing, found) : missing;
    const ids = wanted.map(({ workflowId }) => workflowId);
    await followAll(follower, ids, false, found);
  }
}

/** The payouts whose memo says that a create was sent: their order may still appear. */
async function withSend(runs: readonly ListedRun[], found: Followed): Promise<ListedRun[]> {
  const sent = await inParallel(runs, async (run) => {
    const read = await unlessUnreadable(async () => ({ memo: await run.memo() }));
    if (read === 'not-ours') return false;
    if ('memo' in read) return read.memo['createSent'] === true;
    found.leftAlone.push({ workflowId: run.workflowId, why: read.why });
    return false;
  });
  return runs.filter((_run, at) => sent[at]);
}

/** Restarts follow-ups that were stopped before their last check. They find again what they had found. */
async function followAgain(follower: Follower, sinceMs: number, found: Followed): Promise<void> {
  const query =
    `WorkflowType = 'payoutFollowUp' AND ExecutionStatus IN ${STOPPED_STATUSES}` +
    ` AND CloseTime >= '${new Date(sinceMs).toISOString()}'`;
  for await (const runs of listRunPages(follower.client, query, PAGE_SIZE)) {
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
  const verdicts = await forEachReadable(payouts, found.leftAlone, (id) => followOne(follower, id, again));
  found.started += verdicts.filter((verdict) => verdict === 'started').length;
}

/** Excludes payouts that already have a follow-up: one query for all. */
async function withoutFollowUp({ client, apps }: Follower, runs: readonly ListedRun[]): Promise<ListedRun[]> {
  const payoutByFollowUp = new Map<string, ListedRun>();
  for (const run of runs) {
    const { app = '', partnerOrderId = '' } = payoutOf(run.workflowId) ?? {};
    if (apps.has(app)) payoutByFollowUp.set(payoutFollowUpWorkflowId(app, partnerOrderId), run);
  }
  const ids = quoteIds([...payoutByFollowUp.keys()]);
  if (ids === '') return [];
  const query = `WorkflowType = 'payoutFollowUp' AND WorkflowId IN (${ids})`;
  for await (const known of listRunPages(client, query, PAGE_SIZE))
    for (const { workflowId } of known) payoutByFollowUp.delete(workflowId);
  return [...payoutByFollowUp.values()];
}

async function followOne(
  { client, environment }: Follower,
  workflowId: string,
  again: boolean,
): Promise<'started' | 'not-ours'> {
  const ended = await endedPayout(client, workflowId);
  const isOurs = ended && (ended.environment ?? environment) === environment;
  return isOurs && (await startFollowUp(client, ended, again)) ? 'started' : 'not-ours';
}
