/**
 * Finds payouts whose workflow was terminated, timed out or failed, and restarts them under the same id, with the argument
 * of the run that sent. The restart is a doubtful start, so it confirms first (H10).
 */
import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import { failedAsBadInput } from '../../client/start-once.ts';
import { PAYOUTS_TASK_QUEUE, payoutOf } from '../../contract/ids.ts';
import { isRequestOf } from '../../contract/payout-request.ts';
import { restartDelayMs, type Unresolved } from '../../domain/reconciliation.ts';
import { type Clock, inParallel, Pace } from '../../runtime/runtime.ts';
import { isGone, isRetryableTemporalError, unlessGone } from '../../temporal/client-errors.ts';
import { type DecisiveRun, decisiveRun, VisibilityLagsError } from '../../temporal/decisive-run.ts';
import { environmentOf, readStartEvent } from '../../temporal/histories.ts';
import { APP, PHASE } from '../../temporal/namespace.ts';
import {
  countRuns,
  isQuotable,
  isStopped,
  type ListedRun,
  listRunsOf,
  STOPPED_STATUSES,
} from '../../temporal/visibility.ts';

export interface LookedAtClosed {
  restarted: number;
  followUpsStarted: number;
  unresolved: Unresolved[];
  /** The call processed everything that closed before this time: at least a part of the time that it was given. */
  untilMs: number;
}

export interface Reconciler {
  client: Client;
  /** To wait for visibility. */
  clock: Clock;
  environment: string;
  apps: ReadonlySet<string>;
  reconcileEveryMs: number;
}

/** Each restart calls the provider immediately. So they use a third of the default rate limit. */
const RESTART_EVERY_MS = 150;

const STOPPED = `ExecutionStatus IN ${STOPPED_STATUSES}`;

const ORIGIN_IS_GONE =
  'may have sent a create: the history of that run was deleted, and no other run contains the request';
const REFUSED_AFTER_SEND = 'may have sent a create, and this worker refuses its request as bad input';

/** `runs`: of payouts that were stopped. */
export async function restartStopped(
  reconciler: Reconciler,
  runs: readonly ListedRun[],
  nowMs: number,
  found: LookedAtClosed,
): Promise<void> {
  const pace = new Pace(reconciler.clock, RESTART_EVERY_MS);
  const ids = runs
    .map(({ workflowId }) => workflowId)
    .filter((id) => isQuotable(id) && reconciler.apps.has(payoutOf(id)?.app ?? ''));
  const verdicts = await forEachReadable([...new Set(ids)], found.unresolved, async (id) => {
    const verdict = await restartOne(reconciler, id, nowMs, pace);
    if (verdict === 'waiting') found.unresolved.push({ workflowId: id });
    return verdict;
  });
  found.restarted += verdicts.filter((verdict) => verdict === 'restarted').length;
}

/** Describes the payout first: it may run again, and visibility lags. */
async function restartOne(
  reconciler: Reconciler,
  workflowId: string,
  nowMs: number,
  pace: Pace,
): Promise<Verdict<'restarted' | 'waiting'>> {
  const { client, clock, environment, reconcileEveryMs } = reconciler;
  const { runId, status, closeTime } = await client.workflow.getHandle(workflowId).describe();
  if (!isStopped(status)) return 'not-ours';
  const isBadInput = status.name === 'FAILED' && (await failedAsBadInput(client, workflowId, runId));
  const isValid = (argument: unknown) => isRequestOf(workflowId, argument);
  const search = { workflowId, latest: { runId, isBadInput }, isValid, clock };
  const decisive = await decisiveRun(client, search).catch(unknownWhileLagging);
  if (decisive === 'unknown') return 'waiting';
  if (decisive === undefined || decisive.saidNotCreated) return 'not-ours';
  const origin = await originOf(client, workflowId, decisive);
  if (!origin) return { reason: ORIGIN_IS_GONE };
  const { argument, memo } = origin;
  const meant = await environmentOf(client, { workflowId, runId: origin.runId }, memo);
  if (meant !== undefined && meant !== environment) return 'not-ours';
  const stops = await countRuns(client, `WorkflowId = '${workflowId}' AND ${STOPPED}`);
  const closedMs = closeTime?.getTime() ?? 0;
  if (nowMs < closedMs + restartDelayMs(stops, reconcileEveryMs))
    return isBadInput && decisive.sent ? { reason: REFUSED_AFTER_SEND } : 'waiting';
  await pace.turn();
  return restart(client, workflowId, argument, {
    ...memo,
    ...(meant !== undefined && { environment: meant }),
    ...(decisive.sent && { createSent: true }),
    rejectDuplicate: false,
    stops,
  });
}

function unknownWhileLagging(error: unknown): 'unknown' {
  if (error instanceof VisibilityLagsError) return 'unknown';
  throw error;
}

async function restart(
  client: Client,
  workflowId: string,
  argument: unknown,
  memo: Record<string, unknown>,
): Promise<'restarted' | 'not-ours'> {
  const { app = '' } = payoutOf(workflowId) ?? {};
  try {
    await client.workflow.start('payout', {
      taskQueue: PAYOUTS_TASK_QUEUE,
      workflowId,
      workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
      workflowIdConflictPolicy: 'FAIL',
      args: [argument],
      memo,
      typedSearchAttributes: new TypedSearchAttributes([
        { key: APP, value: app },
        { key: PHASE, value: 'CHECKING' },
      ]),
      staticSummary: 'restarted by the reconciliation after its workflow was stopped',
    });
    return 'restarted';
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return 'not-ours';
    throw error;
  }
}

interface OriginRun {
  runId: string;
  argument: unknown;
  memo: Record<string, unknown>;
}

/** The start of the decisive run or, if its history is gone, of any run with a valid request for this payout. */
async function originOf(
  client: Client,
  workflowId: string,
  decisive: DecisiveRun,
): Promise<OriginRun | undefined> {
  const own = await unlessGone(() => startOf(client, workflowId, decisive.runId));
  if (own) return own;
  for (const { runId } of await listRunsOf(client, workflowId)) {
    const start = await unlessGone(() => startOf(client, workflowId, runId));
    if (start && isRequestOf(workflowId, start.argument)) return start;
  }
  return undefined;
}

/** Includes the memo of the first run, because a run that was continued as new or reset may have lost entries. */
async function startOf(client: Client, workflowId: string, runId: string): Promise<OriginRun> {
  const { argument, memo, firstRunId } = await readStartEvent(client, workflowId, runId);
  if (firstRunId === runId) return { runId, argument, memo };
  const first = await unlessGone(() => readStartEvent(client, workflowId, firstRunId));
  return { runId, argument, memo: { ...first?.memo, ...memo } };
}

/** `not-ours`: this worker has nothing to do. `reason`: a person must look at the workflow. */
export type Verdict<V> = V | 'not-ours' | { reason: string };

/** Runs `work` for each workflow. Adds those for a person to `unresolved`, and returns the other verdicts. */
export async function forEachReadable<V extends string>(
  workflowIds: readonly string[],
  unresolved: Unresolved[],
  work: (workflowId: string) => Promise<Verdict<V>>,
): Promise<(V | 'not-ours')[]> {
  const verdicts = await inParallel(workflowIds, async (workflowId) => {
    const verdict = await unlessUnreadable(() => work(workflowId));
    if (typeof verdict === 'string') return [verdict];
    unresolved.push({ workflowId, reason: verdict.reason });
    return [];
  });
  return verdicts.flat();
}

export async function unlessUnreadable<V>(work: () => Promise<V>): Promise<Verdict<V>> {
  try {
    return await work();
  } catch (error) {
    if (isGone(error)) return 'not-ours';
    // Temporal is unavailable or busy, so retry the whole activity. All other errors concern only this workflow.
    if (isRetryableTemporalError(error)) throw error;
    return { reason: error instanceof Error ? `cannot be read: ${error.name}` : 'cannot be read' };
  }
}
