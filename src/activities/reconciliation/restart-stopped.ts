/**
 * Finds payouts whose workflow was terminated, timed out or failed, and restarts them under the same id, with the argument
 * of the run that sent. The restart is a doubtful start, so it confirms first (H10).
 */
import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import { hashesAttribute } from '../../client/search.ts';
import { failedAsBadInput } from '../../client/start-once.ts';
import type { EventEndpoints } from '../../config/events.ts';
import { PAYOUTS_TASK_QUEUE, payoutOf } from '../../contract/ids.ts';
import { CREATE_SENT, startFactsIn, startMemo } from '../../contract/memo.ts';
import { isRequestOf } from '../../contract/payout-request.ts';
import { restartDelayMs, type Unresolved } from '../../domain/reconciliation.ts';
import type { PlainPayloads } from '../../encryption/payload-codec.ts';
import { type Clock, inParallel, Pace } from '../../runtime/runtime.ts';
import { isGone, isRetryableTemporalError, unlessGone } from '../../temporal/client-errors.ts';
import { type DecisiveRun, decisiveRun, VisibilityLagsError } from '../../temporal/decisive-run.ts';
import { environmentOf, readStartEvent } from '../../temporal/histories.ts';
import { APP, PHASE, STARTED_AT } from '../../temporal/namespace.ts';
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
  clock: Clock;
  environment: string;
  endpoints: EventEndpoints;
  apps: ReadonlySet<string>;
  reconcileEveryMs: number;
  plainPayloads: PlainPayloads;
}

/** Each restart calls the provider immediately. So they use a third of the default rate limit. */
const RESTART_EVERY_MS = 150;

const STOPPED = `ExecutionStatus IN ${STOPPED_STATUSES}`;

const ORIGIN_IS_GONE =
  'may have sent a create call: the history of that run was deleted, and no other run contains the request';
const PLAIN_AFTER_SEND =
  "may have sent a create call, and its start isn't encrypted: start it again with the same request";
const REFUSED_AFTER_SEND = 'may have sent a create call, and this worker refuses its request as bad input';

/** `runs`: of payouts that were stopped. */
export async function restartStopped(
  reconciler: Reconciler,
  runs: readonly ListedRun[],
  nowMs: number,
  found: LookedAtClosed,
): Promise<void> {
  const pace = new Pace(reconciler.clock, RESTART_EVERY_MS);
  const served = runs.filter(
    ({ workflowId: id }) => isQuotable(id) && reconciler.apps.has(payoutOf(id)?.app ?? ''),
  );
  const payouts = new Map(served.map((run) => [run.workflowId, run]));
  found.restarted += await forEachReadable([...payouts.values()], found.unresolved, ({ workflowId }) =>
    restartOne(reconciler, workflowId, nowMs, pace),
  );
}

/** Describes the payout first: it may run again, and visibility lags. */
async function restartOne(
  reconciler: Reconciler,
  workflowId: string,
  nowMs: number,
  pace: Pace,
): Promise<Verdict> {
  const { client, clock, environment, reconcileEveryMs } = reconciler;
  const stopped = await client.workflow.getHandle(workflowId).describe();
  const { runId, status, closeTime } = stopped;
  if (!isStopped(status)) return 'nothing';
  const isBadInput = status.name === 'FAILED' && (await failedAsBadInput(client, workflowId, runId));
  const isValid = (argument: unknown) => isRequestOf(workflowId, argument);
  const search = { workflowId, latest: { runId, isBadInput }, isValid, clock };
  const decisive = await decisiveRun(client, search).catch(unknownWhileLagging);
  if (decisive === 'unknown') return 'waiting';
  if (decisive === undefined || decisive.saidNotCreated) return 'nothing';
  const origin = await originOf(reconciler, workflowId, decisive);
  if ('verdict' in origin) return origin.verdict;
  const { argument, memo, hashes } = origin;
  const meant = await environmentOf(client, { workflowId, runId: origin.runId }, memo);
  if (meant !== undefined && meant !== environment) return 'nothing';
  const stops = await countRuns(client, `WorkflowId = '${workflowId}' AND ${STOPPED}`);
  const closedMs = closeTime?.getTime() ?? 0;
  if (nowMs < closedMs + restartDelayMs(stops, reconcileEveryMs))
    return isBadInput && decisive.sent ? { reason: REFUSED_AFTER_SEND } : 'waiting';
  await pace.turn();
  return restart(
    client,
    workflowId,
    { argument, hashes, startedAt: stopped.typedSearchAttributes.get(STARTED_AT) ?? stopped.startTime },
    {
      ...memo,
      ...startMemo({ ...startFactsIn(memo), environment: meant, rejectDuplicate: false }),
      ...(decisive.sent && CREATE_SENT),
      stops,
    },
  );
}

function unknownWhileLagging(error: unknown): 'unknown' {
  if (error instanceof VisibilityLagsError) return 'unknown';
  throw error;
}

async function restart(
  client: Client,
  workflowId: string,
  { argument, hashes, startedAt }: { argument: unknown; hashes: string[] | undefined; startedAt: Date },
  memo: Record<string, unknown>,
): Promise<Verdict> {
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
        { key: STARTED_AT, value: startedAt },
        ...hashesAttribute(hashes),
      ]),
      staticSummary: 'restarted by the reconciliation after its workflow was stopped',
    });
    return 'done';
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return 'nothing';
    throw error;
  }
}

/** The start to repeat, or why there is none. */
async function originOf({ client, plainPayloads }: Reconciler, workflowId: string, decisive: DecisiveRun) {
  const start = await knownStart(client, workflowId, decisive);
  if (!start) return { verdict: { reason: ORIGIN_IS_GONE } };
  // A restart would encrypt what workers have refused, or would refuse now.
  if (plainPayloads === 'accept' || (await start.isEncrypted())) return start;
  const verdict: Verdict = decisive.sent ? { reason: PLAIN_AFTER_SEND } : 'nothing';
  return { verdict };
}

/** The start of the decisive run or, if its history is gone, of any run with a valid request for this payout. */
async function knownStart(client: Client, workflowId: string, decisive: DecisiveRun) {
  const own = await unlessGone(() => startOf(client, workflowId, decisive.runId));
  if (own) return own;
  for (const { runId } of await listRunsOf(client, workflowId)) {
    const start = await unlessGone(() => startOf(client, workflowId, runId));
    if (start && isRequestOf(workflowId, start.argument)) return start;
  }
  return undefined;
}

/** Includes the memo of the first run, because a run that was continued as new or reset may have lost entries. */
async function startOf(client: Client, workflowId: string, runId: string) {
  const start = { runId, ...(await readStartEvent(client, workflowId, runId)) };
  const { firstRunId, memo } = start;
  if (firstRunId === runId) return start;
  const first = await unlessGone(() => readStartEvent(client, workflowId, firstRunId));
  const isEncrypted = async () => (await start.isEncrypted()) && (await first?.isEncrypted()) !== false;
  return { ...start, isEncrypted, memo: { ...first?.memo, ...memo } };
}

/** `waiting`: a later look may do it. `reason`: an operator must look at the workflow. */
export type Verdict = 'done' | 'nothing' | 'waiting' | { reason: string };

/** Runs `work` for each run. Returns how often it was done. Adds those that wait or need an operator to `unresolved`. */
export async function forEachReadable(
  runs: readonly ListedRun[],
  unresolved: Unresolved[],
  work: (run: ListedRun) => Promise<Verdict>,
): Promise<number> {
  const verdicts = await inParallel(runs, async (run) => {
    const { workflowId } = run;
    const verdict = await work(run).catch(unreadable);
    if (verdict === 'waiting') unresolved.push({ workflowId });
    if (typeof verdict === 'object') unresolved.push({ workflowId, reason: verdict.reason });
    return verdict;
  });
  return verdicts.filter((verdict) => verdict === 'done').length;
}

function unreadable(error: unknown): Verdict {
  if (isGone(error)) return 'nothing';
  // Temporal is unavailable or busy, so retry the whole activity. All other errors concern only this workflow.
  if (isRetryableTemporalError(error)) throw error;
  return { reason: error instanceof Error ? `cannot be read: ${error.name}` : 'cannot be read' };
}
