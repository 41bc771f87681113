/** What no workflow may do: fail, or have a workflow task that fails. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import proto from '@temporalio/proto';
import { SETTINGS_CHANGED } from '../src/client/shared-settings.ts';

const { EventType, WorkflowTaskFailedCause } = proto.temporal.api.enums.v1;

/** Caused by the server or an operator, never by workflow code. */
const BENIGN_CAUSES: readonly number[] = [
  WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND,
  WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW,
  WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_STICKY_TASK_QUEUE,
  WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND,
  WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_FAILOVER_CLOSE_COMMAND,
  WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_UPDATE,
];

const ALL_WORKFLOWS = "StartTime > '2000-01-01T00:00:00Z'";
const FAILED_STATUSES: readonly string[] = ['FAILED', 'TIMED_OUT', 'TERMINATED'];
/** The first attempt may be lost to a worker that was killed. */
const ATTEMPTS_AFTER_A_KILL = 2;
const CHECKS = 10;
const QUERY_EVERY_MS = 1_000;

export interface Unhealthy {
  workflowId: string;
  why: string;
}

/** Every run of every workflow: payouts, leases, token renewals, reconciliation. */
export async function unhealthyWorkflows(client: Client, query = ALL_WORKFLOWS): Promise<Unhealthy[]> {
  const found: Unhealthy[] = [];
  const open: WorkflowExecutionInfo[] = [];
  for await (const info of client.workflow.list({ query })) {
    const { workflowId, status } = info;
    if (FAILED_STATUSES.includes(status.name)) {
      const why = await failureOf(client, info);
      // A change of the shared settings ends the term of a lease so.
      if (!why.includes(SETTINGS_CHANGED)) found.push({ workflowId, why });
    }
    if (status.name === 'RUNNING') open.push(info);
    found.push(...(await failedTasks(client, info)).map((why) => ({ workflowId, why })));
  }
  const stuck = await Promise.all(open.map((info) => isStuck(client, info)));
  for (const [at, { workflowId }] of open.entries())
    if (stuck[at]) found.push({ workflowId, why: 'its workflow task keeps being retried' });
  return found;
}

async function failureOf(
  client: Client,
  { workflowId, runId, status }: WorkflowExecutionInfo,
): Promise<string> {
  const handle = client.workflow.getHandle(workflowId, runId, { followRuns: false });
  const why = await handle.result().then(
    () => '',
    (error: unknown) => (error instanceof Error ? messagesOf(error) : String(error)),
  );
  return `the workflow is ${status.name}: ${why}`;
}

function messagesOf(error: Error): string {
  const cause = error.cause instanceof Error ? `: ${messagesOf(error.cause)}` : '';
  return `${error.message}${cause}`;
}

async function failedTasks(client: Client, { workflowId, runId }: WorkflowExecutionInfo): Promise<string[]> {
  const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
  return (events ?? []).flatMap(({ eventType, workflowTaskFailedEventAttributes: failed }) => {
    if (eventType !== EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED || !failed) return [];
    const cause = failed.cause ?? 0;
    if (BENIGN_CAUSES.includes(cause)) return [];
    const name = WorkflowTaskFailedCause[cause]?.replace('WORKFLOW_TASK_FAILED_CAUSE_', '');
    return [`a workflow task failed (${name}): ${failed.failure?.message?.slice(0, 300) ?? ''}`];
  });
}

/** A task that is only late, because a worker died, completes during these checks. */
async function isStuck(client: Client, { workflowId, runId }: WorkflowExecutionInfo): Promise<boolean> {
  const handle = client.workflow.getHandle(workflowId, runId);
  for (let look = 0; look < CHECKS; look += 1) {
    const { raw } = await handle.describe();
    if ((raw.pendingWorkflowTask?.attempt ?? 0) <= ATTEMPTS_AFTER_A_KILL) return false;
    await sleep(QUERY_EVERY_MS);
  }
  return true;
}
