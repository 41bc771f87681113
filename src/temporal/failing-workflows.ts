/**
 * Finds open workflows whose workflow task keeps failing. Such a workflow cannot report this itself. Temporal 1.30 and
 * later set a search attribute on it. On older servers, every open workflow must be described: each reconciliation
 * describes a limited number and continues where the previous one stopped.
 */
import type { Client } from '@temporalio/client';
import { tsToMs } from '@temporalio/common/lib/time.js';
import proto from '@temporalio/proto';
import { z } from 'zod';
import { PAYOUTS_TASK_QUEUE, reconciliationId } from '../contract/ids.ts';
import { FAILING_FROM_ATTEMPT, type FailingWorkflow } from '../domain/reconciliation.ts';
import { grpcStatusOf, unlessGone } from './client-errors.ts';
import { lastEvents } from './histories.ts';
import { firstRuns, listRunPage } from './visibility.ts';

const PAGE_SIZE = 100;
const MAX_CONCURRENT_DESCRIBES = 8;
/** A describe takes Temporal about a millisecond. */
const MAX_RARE = 500;
const MAX_COMMON = 1_500;
const MAX_REPORTED = 100;
/** Enough to contain the last failure. */
const LAST_EVENTS = 20;

const OPEN = `TaskQueue = '${PAYOUTS_TASK_QUEUE}' AND ExecutionStatus = 'Running'`;
/** There may be tens of thousands of these. All other types are rare, and each of their workflows matters more. */
const COMMON_TYPES = "('payout', 'payoutFollowUp')";

export interface FailingSearch {
  /** At most the first hundred. */
  failing: FailingWorkflow[];
  /** The next search covers workflows that started before it. Unix milliseconds; undefined: all. */
  nextBeforeMs: number | undefined;
}

/** `known`: the ids that were found before. They are checked again. */
export async function findFailingWorkflows(
  client: Client,
  known: readonly string[],
  beforeMs?: number | undefined,
): Promise<FailingSearch> {
  const reported = await reportedByServer(client);
  const { ids, nextBeforeMs } = reported
    ? { ids: reported, nextBeforeMs: undefined }
    : await idsToDescribe(client, beforeMs);
  return { failing: await stillFailing(client, [...known, ...ids]), nextBeforeMs };
}

/** What the last reconciliation and the server report, checked again. Undefined if neither reports anything. */
export async function knownFailingWorkflows(
  client: Client,
  environment: string,
): Promise<FailingWorkflow[] | undefined> {
  const reported = await reportedByServer(client);
  const last = await lastReconciliation(client, environment);
  const ids = [...(last?.failing ?? []).map(({ workflowId }) => workflowId), ...(reported ?? [])];
  return reported || last ? stillFailing(client, ids) : undefined;
}

/** Whether the workflow task of an open workflow keeps failing now. */
export async function isFailing(client: Client, workflowId: string): Promise<boolean> {
  return (await failingNow(client, workflowId)) !== undefined;
}

async function stillFailing(client: Client, ids: readonly string[]): Promise<FailingWorkflow[]> {
  const found: FailingWorkflow[] = [];
  const left = [...new Set(ids)];
  while (left.length > 0 && found.length < MAX_REPORTED) {
    const checks = left
      .splice(0, MAX_CONCURRENT_DESCRIBES)
      .map((workflowId) => failingNow(client, workflowId));
    for (const one of await Promise.all(checks)) if (one) found.push(one);
  }
  return found.slice(0, MAX_REPORTED);
}

/** Checks the latest run. Decodes nothing, because a missing key must not hide the failures that it causes. */
function failingNow(client: Client, workflowId: string): Promise<FailingWorkflow | undefined> {
  return unlessGone(async () => {
    const { workflowExecutionInfo: info, pendingWorkflowTask: task } =
      await client.workflowService.describeWorkflowExecution({
        namespace: client.options.namespace,
        execution: { workflowId },
      });
    const attempt = task?.attempt ?? 0;
    if (!task || attempt < FAILING_FROM_ATTEMPT) return undefined;
    const runId = info?.execution?.runId ?? '';
    const scheduled = task.originalScheduledTime ?? task.scheduledTime;
    return {
      workflowId,
      runId,
      type: info?.type?.name ?? '',
      attempt,
      sinceMs: scheduled ? tsToMs(scheduled) : 0,
      cause: await causeOf(client, workflowId, runId),
    };
  });
}

/** Temporal records only the first failure in a row. The later ones have the same cause. */
async function causeOf(client: Client, workflowId: string, runId: string): Promise<string> {
  for (const event of await lastEvents(client, { workflowId, runId }, LAST_EVENTS)) {
    const failed = event.workflowTaskFailedEventAttributes;
    if (event.workflowTaskTimedOutEventAttributes) return 'TIMED_OUT';
    const name = failed && CAUSES[failed.cause ?? 0];
    if (name) return name.replace('WORKFLOW_TASK_FAILED_CAUSE_', '');
  }
  return 'UNKNOWN';
}

const CAUSES: Readonly<Record<number, string | undefined>> =
  proto.temporal.api.enums.v1.WorkflowTaskFailedCause;

/** Whether the server sets the search attribute: after five failures in a row, unless this is disabled. */
async function serverReports(client: Client): Promise<boolean> {
  const { namespace } = client.options;
  try {
    const { namespaceInfo } = await client.workflowService.describeNamespace({ namespace });
    return namespaceInfo?.capabilities?.reportedProblemsSearchAttribute ?? false;
  } catch (error) {
    // Without permission to describe the namespace, describe each workflow.
    if (grpcStatusOf(error) === 'PERMISSION_DENIED') return false;
    throw error;
  }
}

/** Undefined if the server does not set the search attribute. */
async function reportedByServer(client: Client): Promise<string[] | undefined> {
  if (!(await serverReports(client))) return undefined;
  const { runs } = await listRunPage(client, `${OPEN} AND TemporalReportedProblems IS NOT NULL`, PAGE_SIZE);
  return runs.map(({ workflowId }) => workflowId);
}

async function idsToDescribe(client: Client, beforeMs: number | undefined) {
  const rare = await firstRuns(client, `${OPEN} AND WorkflowType NOT IN ${COMMON_TYPES}`, MAX_RARE);
  const from = beforeMs === undefined ? '' : ` AND StartTime <= '${new Date(beforeMs).toISOString()}'`;
  const common = await firstRuns(client, `${OPEN} AND WorkflowType IN ${COMMON_TYPES}${from}`, MAX_COMMON);
  const last = common.length < MAX_COMMON ? undefined : common.at(-1);
  // If a whole page started in the same millisecond, the search would never advance.
  const isStuck = last !== undefined && last.startedMs === beforeMs;
  return {
    ids: [...rare, ...common].map(({ workflowId }) => workflowId),
    nextBeforeMs: isStuck ? undefined : last?.startedMs,
  };
}

/** The last reconciliation that has completed. */
export async function lastReconciliationRun(client: Client, environment: string) {
  const ended = `WorkflowType = 'payoutReconciliation' AND ExecutionStatus = 'Completed'`;
  const query = `${ended} AND WorkflowId STARTS_WITH '${reconciliationId(environment)}'`;
  // The list starts with the run that closed last.
  return (await listRunPage(client, query, 1)).runs[0];
}

/** Its report. */
export async function lastReconciliation(client: Client, environment: string) {
  const last = await lastReconciliationRun(client, environment);
  return last && reportSchema.parse(await client.workflow.getHandle(last.workflowId, last.runId).result());
}

const reportSchema = z.object({
  failing: z.array(z.object({ workflowId: z.string() })),
  notReconciled: z.array(z.object({ workflowId: z.string(), reason: z.string() })),
});
