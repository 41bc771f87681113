/**
 * What the other runs of a workflow id have done. Temporal's own histories are the evidence: a Workflow Reset, a
 * terminated run or an earlier start under the same id leaves one.
 */
import { ApplicationFailure } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { tsToMs } from '@temporalio/common/lib/time.js';
import { sameBody } from '../../client/start-once.ts';
import { checkPayoutRequest } from '../../contract/payout-request.ts';
import type { CheckedPayoutRequest } from '../../domain/payout.ts';
import { isGone } from '../../temporal/client-errors.ts';
import { readStartEvent } from '../../temporal/start-event.ts';

export interface OtherRun {
  runId: string;
  /** Unix milliseconds. */
  startedAtMs: number;
}

/** What can be asked about the runs of a workflow id; a test can answer instead of Temporal. */
export interface RunHistories {
  /** The runs under `workflowId` that visibility shows. */
  runsOf(workflowId: string): Promise<OtherRun[]>;
  /** Whether the run has ever scheduled an activity of this type; undefined when its history is gone. */
  scheduled(workflowId: string, runId: string, activityType: string): Promise<boolean | undefined>;
  /** The runs that this one, and they themselves, were reset from, by their histories. */
  basesOf(workflowId: string, runId: string): Promise<OtherRun[]>;
  /** What the run was started with; undefined when its history is gone. */
  argumentOf(workflowId: string, runId: string): Promise<unknown>;
}

/**
 * The runs other than the asking one that may have sent: those that have scheduled an activity of `activityType`. A
 * history that is gone proves nothing, nor does one from before `recoveredAtMs`, of which Temporal may have lost the
 * end (H53).
 */
export async function runsThatMayHaveSent(
  histories: RunHistories,
  workflowId: string,
  ownRunId: string,
  activityType: string,
  recoveredAtMs = 0,
): Promise<OtherRun[]> {
  const others = await otherRuns(histories, workflowId, ownRunId);
  const sent: OtherRun[] = [];
  for (const run of others) {
    const isForgotten = run.startedAtMs < recoveredAtMs;
    if (isForgotten || (await histories.scheduled(workflowId, run.runId, activityType)) !== false)
      sent.push(run);
  }
  return sent;
}

/**
 * Waits until visibility shows the asking run itself. What came before it is most likely shown by then, but visibility
 * does not promise the order: the runs that a reset began from are read from histories. Retryable when it does not come
 * about.
 */
async function otherRuns(histories: RunHistories, workflowId: string, ownRunId: string): Promise<OtherRun[]> {
  const runs = await histories.runsOf(workflowId);
  if (!runs.some(({ runId }) => runId === ownRunId))
    throw ApplicationFailure.create({
      type: 'VISIBILITY_LAGS',
      message: 'visibility does not show this run yet, so earlier ones may be missing too',
    });
  const bases = await histories.basesOf(workflowId, ownRunId);
  const others = new Map([...bases, ...runs].map((run) => [run.runId, run]));
  others.delete(ownRunId);
  return [...others.values()];
}

/** Whether one of `runs` was started with another body than `request`, so that the order may be of that body. */
export async function sentAnotherBody(
  histories: RunHistories,
  workflowId: string,
  runs: readonly OtherRun[],
  request: CheckedPayoutRequest,
): Promise<boolean> {
  for (const { runId } of runs) {
    const argument = await histories.argumentOf(workflowId, runId);
    const theirs = checkPayoutRequest(argument);
    if (theirs.ok && !sameBody(theirs.value, request)) return true;
  }
  return false;
}

export function temporalHistories(client: Client): RunHistories {
  return {
    async runsOf(workflowId) {
      const runs: OtherRun[] = [];
      for await (const run of client.workflow.list({ query: `WorkflowId = '${workflowId}'` }))
        runs.push({ runId: run.runId, startedAtMs: run.startTime.getTime() });
      return runs;
    },
    async basesOf(workflowId, runId) {
      const bases = new Map<string, OtherRun>();
      let queue = [runId];
      for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
        const { startedAtMs, baseRunIds } = await beginningOf(client, workflowId, next);
        if (next !== runId) bases.set(next, { runId: next, startedAtMs });
        queue = [...new Set([...queue, ...baseRunIds])].filter((one) => one !== runId && !bases.has(one));
      }
      return [...bases.values()];
    },
    async scheduled(workflowId, runId, activityType) {
      try {
        const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
        return (history.events ?? []).some(
          (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === activityType,
        );
      } catch {
        return undefined;
      }
    },
    async argumentOf(workflowId, runId) {
      try {
        return (await readStartEvent(client, workflowId, runId)).argument;
      } catch {
        return undefined;
      }
    },
  };
}

/** When the run began, and which runs it was reset from. One whose history is gone began long ago, from nothing known. */
async function beginningOf(
  client: Client,
  workflowId: string,
  runId: string,
): Promise<{ startedAtMs: number; baseRunIds: string[] }> {
  try {
    const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    const [first] = events ?? [];
    const baseRunIds = (events ?? []).flatMap(
      ({ workflowTaskFailedEventAttributes: failed }) => failed?.baseRunId || [],
    );
    return { startedAtMs: first?.eventTime ? tsToMs(first.eventTime) : 0, baseRunIds };
  } catch (error) {
    if (isGone(error)) return { startedAtMs: 0, baseRunIds: [] };
    throw error;
  }
}
