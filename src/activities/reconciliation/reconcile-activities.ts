/** The activities of the reconciliation. */
import type { Client } from '@temporalio/client';
import { plainPayloads, type WorkerConfig } from '../../config/config.ts';
import { saysUnpublished, startFactsIn } from '../../contract/memo.ts';
import { eventsQuery } from '../../contract/workflows.ts';
import type { Clock } from '../../runtime/runtime.ts';
import { findFailingWorkflows } from '../../temporal/failing-workflows.ts';
import { APP } from '../../temporal/namespace.ts';
import { ownAnswer } from '../../temporal/own-payloads.ts';
import {
  countRuns,
  isStopped,
  type ListedRun,
  listRunPages,
  quoteIds,
  STOPPED_STATUSES,
  withPacedLists,
} from '../../temporal/visibility.ts';
import { queueForEndpoints } from '../events/event-activities.ts';
import { onlyHere } from '../shared/execution.ts';
import { type EndedWhich, followEnded, payoutEnd } from './follow-ended.ts';
import {
  forEachReadable,
  type LookedAtClosed,
  type Reconciler,
  restartStopped,
  type Verdict,
} from './restart-stopped.ts';

/** A time in which workflows closed: from `fromMs` on, before `untilMs`. Unix milliseconds. */
export interface ClosedBetween {
  fromMs: number;
  untilMs: number;
  /** Only those that were stopped. They are few. */
  onlyStopped?: true;
}

export interface LookAtClosed {
  environment: string;
  which: ClosedBetween | { workflowIds: string[] };
  /** The workflow's time, which is Temporal's clock. Unix milliseconds. */
  nowMs: number;
  /** At most so many unresolved workflows are returned. */
  room: number;
}

interface LookForFailing {
  environment: string;
  /** The ids of failing workflows that were found before. */
  known: string[];
  /** Where the last search stopped. Unix milliseconds. */
  beforeMs?: number | undefined;
}

/** They call only Temporal, and are idempotent. */
export function reconcileActivities(config: WorkerConfig, unpaced: Client, clock: Clock) {
  const { env, applications, events: endpoints } = config;
  const environment = env.PAYMENTS_ENVIRONMENT;
  const here = onlyHere(environment, clock);
  const client = withPacedLists(unpaced, clock);
  const apps = new Set(applications.keys());
  const reconcileEveryMs = env.PAYOUTS_RECONCILE_EVERY;
  const parts = {
    ...{ client, clock, environment, endpoints, apps, reconcileEveryMs },
    plainPayloads: plainPayloads(config),
  };
  return {
    reconcileClosed: (look: LookAtClosed) => here(look, () => reconcileClosed(parts, look)),
    payoutEnd: (which: EndedWhich) => here(which, () => payoutEnd(client, which)),
    /** Finds open workflows of every type whose workflow task keeps failing. */
    findFailing: (look: LookForFailing) =>
      here(look, () => findFailingWorkflows(client, look.known, look.beforeMs)),
  };
}

/** Temporal lists no more at once. */
const PAGE_SIZE = 1_000;
const MAX_RUNS = 5_000;

const TYPES = "WorkflowType IN ('payout', 'payoutFollowUp', 'payoutBatch')";
const STOPPED = `${TYPES} AND ExecutionStatus IN ${STOPPED_STATUSES}`;
const CLOSED = `${TYPES} AND ExecutionStatus IN ${STOPPED_STATUSES.replace('(', "('Completed', ")}`;

/**
 * Processes closed workflows: restarts payouts whose workflow was terminated, timed out or failed, starts the missing
 * follow-up of each payout that has ended after a create call, restarts stopped ones, and publishes the events that
 * ended workflows could not publish. One list has all of them: a call lists each run of its time once, and no more runs
 * than it can process in minutes.
 */
export async function reconcileClosed(parts: Reconciler, look: LookAtClosed): Promise<LookedAtClosed> {
  const { which, nowMs, room } = look;
  const { query, untilMs } = await searchFor(parts.client, which);
  const found: LookedAtClosed = { restarted: 0, followUpsStarted: 0, unresolved: [], untilMs };
  for await (const runs of listRunPages(parts.client, query, PAGE_SIZE)) {
    const stopped = runs.filter(({ status }) => isStopped({ name: status }));
    const ended = runs.filter(({ isCompleted }) => isCompleted);
    await restartStopped(parts, of('payout', stopped), nowMs, found);
    const toFollow = [...of('payout', ended), ...of('payoutFollowUp', stopped)];
    await followEnded(parts, toFollow, nowMs, found);
    const mayMiss = ended.filter((run) => parts.endpoints.has(appOf(run)));
    await forEachReadable(mayMiss, found.unresolved, (run) => publishMissed(parts, run));
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

/**
 * Publishes the events that a completed workflow could not publish before its end. Its memo says so, and its query still
 * has them. Safe to repeat: deliveries recognize the ids of events that they have delivered.
 */
async function publishMissed(reconciler: Reconciler, run: ListedRun): Promise<Verdict> {
  const { client, environment } = reconciler;
  // Only our workers write it, so that nobody else can get the events of a workflow signed.
  if (!saysUnpublished(await run.ownMemo())) return 'nothing';
  const { environment: meant = environment } = startFactsIn(await run.memo());
  if (meant !== environment) return 'nothing';
  const { workflowId, runId } = run;
  const all = await ownAnswer(client, { workflowId, runId }, eventsQuery);
  // Only an activity gives an event its time, so one without has never been tried.
  const events = all.filter(({ isQueued, timestamp }) => !isQueued && timestamp !== undefined);
  await queueForEndpoints(reconciler, { app: appOf(run), workflowId, events });
  return 'done';
}

function appOf(run: ListedRun): string {
  return String(run.attribute(APP.name));
}
