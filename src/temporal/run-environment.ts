/** For which environment a run was made, where several share a namespace. */
import type { Client } from '@temporalio/client';
import { environmentOfQueue } from '../contract/ids.ts';

/** A payout's first call stands among these, if it has made any. */
const FIRST_EVENTS = 60;

/** By its memo, else by the queue of its calls; undefined where nothing says so. */
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
