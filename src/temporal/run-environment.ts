/** Determines the environment of a run, because several environments may share a namespace. */
import type { Client } from '@temporalio/client';
import { environmentOfQueue } from '../contract/ids.ts';

/** These include a payout's first call, if it has made any. */
const FIRST_EVENTS = 60;

/** From the run's memo or from the task queue of its calls; undefined if neither names the environment. */
export async function environmentOf(
  client: Client,
  { workflowId, runId }: { workflowId: string; runId: string },
  memo: Record<string, unknown>,
): Promise<string | undefined> {
  if (typeof memo['environment'] === 'string') return memo['environment'];
  const { history } = await client.workflowService.getWorkflowExecutionHistory({
    namespace: client.options.namespace,
    execution: { workflowId, runId },
    maximumPageSize: FIRST_EVENTS,
  });
  for (const { activityTaskScheduledEventAttributes: scheduled } of history?.events ?? []) {
    const environment = environmentOfQueue(scheduled?.taskQueue?.name ?? '');
    if (environment !== undefined) return environment;
  }
  return undefined;
}
