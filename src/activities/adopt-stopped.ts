/**
 * Finds payouts whose workflow ended without an outcome (terminated, timed out, failed) and starts them again under
 * the same id, with what they were started with. The new run does not promise a fresh number, so it asks for the
 * order before anything else (H10).
 */
import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import { PAYOUTS_TASK_QUEUE, payoutOf } from '../domain/identity.ts';
import { pauseAfterStops } from '../domain/reconciliation.ts';
import { failedAsBadInput } from '../starters/bad-input.ts';
import { isGone } from '../starters/engine-errors.ts';
import { environmentOf } from '../starters/run-environment.ts';
import { startedWith } from '../starters/started-with.ts';
import { isQuotable, type ListedRun, pagesOfRuns, quotedIds } from '../starters/visibility.ts';
import { APP, PHASE } from '../temporal/search-keys.ts';
import { isStopped, STOPPED_STATUSES } from '../temporal/stopped.ts';
import { inParallel } from './in-parallel.ts';
import { unlessUnreadable } from './left-alone.ts';
import type { Adopted, LookFor } from './reconcile-types.ts';

export interface Adopter {
  client: Client;
  environment: string;
  /** The applications that are served here. */
  apps: ReadonlySet<string>;
  reconcileEveryMs: number;
}

/** Each costs the service one question at once; at the default pause that is a third of the usual budget. */
const MOST_AT_ONCE = 200;
const PAGE = 100;
const STARTS_AT_ONCE = 8;

const STOPPED = `ExecutionStatus IN ${STOPPED_STATUSES}`;

type Verdict = 'adopted' | 'waiting' | 'not-ours';

export async function adoptStopped(adopter: Adopter, { closedAfterMs }: LookFor): Promise<Adopted> {
  const found: Adopted = { adopted: 0, waiting: 0, leftAlone: [], more: false };
  const since = new Date(closedAfterMs).toISOString();
  const query = `WorkflowType = 'payout' AND ${STOPPED} AND CloseTime >= '${since}'`;
  for await (const runs of pagesOfRuns(adopter.client, query, PAGE)) {
    if (found.adopted >= MOST_AT_ONCE) return { ...found, more: true };
    const stopped = await withoutSuccessor(adopter, runs);
    await inParallel(STARTS_AT_ONCE, stopped, async (workflowId) => {
      const verdict = await unlessUnreadable(() => adoptOne(adopter, workflowId));
      if (verdict === 'adopted' || verdict === 'waiting') found[verdict] += 1;
      else if (verdict !== 'not-ours') found.leftAlone.push({ workflowId, why: verdict.why });
    });
  }
  return found;
}

/** Most of them were started again, by an earlier reconciliation, a reset or a person: one query tells. */
async function withoutSuccessor({ client, apps }: Adopter, runs: readonly ListedRun[]): Promise<string[]> {
  const candidates = runs.filter(
    ({ workflowId }) => isQuotable(workflowId) && apps.has(payoutOf(workflowId)?.app ?? ''),
  );
  const ids = quotedIds([...new Set(candidates.map(({ workflowId }) => workflowId))]);
  if (ids === '') return [];
  const latest = new Map<string, number>();
  const query = `WorkflowType = 'payout' AND WorkflowId IN (${ids}) AND ExecutionStatus NOT IN ${STOPPED_STATUSES}`;
  for await (const others of pagesOfRuns(client, query, PAGE))
    for (const { workflowId, startedMs } of others)
      latest.set(workflowId, Math.max(startedMs, latest.get(workflowId) ?? 0));
  const left = candidates.filter(({ workflowId, startedMs }) => startedMs >= (latest.get(workflowId) ?? 0));
  return [...new Set(left.map(({ workflowId }) => workflowId))];
}

/** The engine's own word on one payout, for visibility may lag. */
async function adoptOne(
  { client, environment, reconcileEveryMs }: Adopter,
  workflowId: string,
): Promise<Verdict> {
  const { runId, status, closeTime } = await client.workflow.getHandle(workflowId).describe();
  if (!isStopped(status)) return 'not-ours';
  if (status.name === 'FAILED' && (await failedAsBadInput(client, workflowId, runId))) return 'not-ours';
  const { argument, memo } = await originOf(client, workflowId, runId);
  const meant = await environmentOf(client, { workflowId, runId }, memo);
  if (meant !== undefined && meant !== environment) return 'not-ours';
  const { count: stops } = await client.workflow.count(`WorkflowId = '${workflowId}' AND ${STOPPED}`);
  const closedMs = closeTime?.getTime() ?? 0;
  if (Date.now() < closedMs + pauseAfterStops(stops, reconcileEveryMs)) return 'waiting';
  return startAgain(client, workflowId, argument, {
    ...memo,
    ...(meant !== undefined && { environment: meant }),
    rejectDuplicate: false,
    stops,
  });
}

async function startAgain(
  client: Client,
  workflowId: string,
  argument: unknown,
  memo: Record<string, unknown>,
): Promise<Verdict> {
  const { app = '' } = payoutOf(workflowId) ?? {};
  try {
    await client.workflow.start('payout', {
      taskQueue: PAYOUTS_TASK_QUEUE,
      workflowId,
      // Whoever was quicker has started it already.
      workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
      workflowIdConflictPolicy: 'FAIL',
      args: [argument],
      memo,
      typedSearchAttributes: new TypedSearchAttributes([
        { key: APP, value: app },
        { key: PHASE, value: 'CHECKING' },
      ]),
      staticSummary: 'started again by the reconciliation, after its workflow was stopped',
    });
    return 'adopted';
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return 'not-ours';
    throw error;
  }
}

/** What it was first started with: a run that was continued or reset holds less. */
async function originOf(client: Client, workflowId: string, runId: string) {
  const last = await startedWith(client, workflowId, runId);
  if (last.firstRunId === runId) return last;
  const first = await startedWith(client, workflowId, last.firstRunId).catch((error: unknown) => {
    if (isGone(error)) return undefined;
    throw error;
  });
  return { argument: last.argument, memo: { ...first?.memo, ...last.memo } };
}
