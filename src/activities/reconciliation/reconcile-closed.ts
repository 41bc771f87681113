/**
 * Processes closed workflows. One list has all of them: a call lists each run of its time once, and no more runs than it can
 * process in minutes.
 */
import type { Client } from '@temporalio/client';
import { countRuns, isStopped, listRunPages, quoteIds, STOPPED_STATUSES } from '../../temporal/visibility.ts';
import { followEnded } from './follow-ended.ts';
import { type MissedEvents, publishMissed } from './publish-missed.ts';
import type { ClosedBetween, LookAtClosed, LookedAtClosed } from './reconciliation-types.ts';
import { type Reconciler, restartStopped } from './restart-stopped.ts';

/** Temporal lists no more at once. */
const PAGE_SIZE = 1_000;
const MAX_RUNS = 5_000;

const TYPES = "WorkflowType IN ('payout', 'payoutFollowUp', 'payoutBatch')";
const STOPPED = `${TYPES} AND ExecutionStatus IN ${STOPPED_STATUSES}`;
const CLOSED = `${TYPES} AND ExecutionStatus IN ${STOPPED_STATUSES.replace('(', "('Completed', ")}`;

export interface Closer extends Reconciler, MissedEvents {}

export async function reconcileClosed(parts: Closer, look: LookAtClosed): Promise<LookedAtClosed> {
  const { which, nowMs, room } = look;
  const { query, untilMs } = await searchFor(parts.client, which);
  const found: LookedAtClosed = { restarted: 0, followUpsStarted: 0, unresolved: [], untilMs };
  for await (const runs of listRunPages(parts.client, query, PAGE_SIZE)) {
    const stopped = runs.filter(({ status }) => isStopped({ name: status }));
    const ended = runs.filter(({ isCompleted }) => isCompleted);
    await restartStopped(parts, of('payout', stopped), nowMs, found);
    const toFollow = [...of('payout', ended), ...of('payoutFollowUp', stopped)];
    await followEnded(parts, toFollow, nowMs, found);
    await publishMissed(parts, ended, found.unresolved);
  }
  return { ...found, unresolved: found.unresolved.slice(0, room) };
}

function of<T extends { type: string }>(type: string, runs: readonly T[]): T[] {
  return runs.filter((run) => run.type === type);
}

function searchFor(client: Client, which: LookAtClosed['which']) {
  if (!('workflowIds' in which)) return shortened(client, which.onlyStopped ? STOPPED : CLOSED, which);
  return { query: `${CLOSED} AND WorkflowId IN (${quoteIds(which.workflowIds)})`, untilMs: 0 };
}

/** A search for the first part of the time in which at most `MAX_RUNS` runs closed. It passes over times without any. */
async function shortened(client: Client, condition: string, which: ClosedBetween) {
  let { fromMs, untilMs } = which;
  for (;;) {
    const [from, until] = [fromMs, untilMs].map((ms) => `'${new Date(ms).toISOString()}'`);
    const query = `${condition} AND CloseTime >= ${from} AND CloseTime < ${until}`;
    const count = await countRuns(client, query);
    if (count > MAX_RUNS && untilMs - fromMs > 1) untilMs = fromMs + Math.ceil((untilMs - fromMs) / 2);
    else if (count === 0 && untilMs < which.untilMs) [fromMs, untilMs] = [untilMs, which.untilMs];
    else return { query, untilMs };
  }
}
