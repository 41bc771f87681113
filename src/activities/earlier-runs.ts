/**
 * Whether any other run of a workflow has ever set out to send what must not be sent twice, such as a create. Temporal's own histories are the
 * evidence: a Workflow Reset, a terminated run or an earlier start under the same id leaves one.
 */
import { ApplicationFailure } from '@temporalio/activity';
import type { Client } from '@temporalio/client';

/** What can be asked about the runs of a workflow id; a test can answer instead of Temporal. */
export interface RunHistories {
  /** The run ids under `workflowId` that visibility shows. */
  runsOf(workflowId: string): Promise<string[]>;
  /** Whether the run has ever scheduled an activity of this type; undefined when its history is gone. */
  scheduled(workflowId: string, runId: string, activityType: string): Promise<boolean | undefined>;
}

/**
 * Waits until visibility shows the asking run itself: it is written in the order of events, so whatever came
 * before this run is shown by then. Retryable when it does not come about.
 */
export async function createWasScheduledElsewhere(
  histories: RunHistories,
  workflowId: string,
  ownRunId: string,
  activityType = 'createPayout',
): Promise<boolean> {
  const runs = await histories.runsOf(workflowId);
  if (!runs.includes(ownRunId))
    throw ApplicationFailure.create({
      type: 'VISIBILITY_LAGS',
      message: 'visibility does not show this run yet, so earlier ones may be missing too',
    });
  for (const runId of runs.filter((run) => run !== ownRunId)) {
    // A history that is gone proves nothing, so it counts as a create.
    if ((await histories.scheduled(workflowId, runId, activityType)) !== false) return true;
  }
  return false;
}

export function temporalHistories(client: Client): RunHistories {
  return {
    async runsOf(workflowId) {
      const runs: string[] = [];
      for await (const run of client.workflow.list({ query: `WorkflowId = '${workflowId}'` }))
        runs.push(run.runId);
      return runs;
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
  };
}
