/**
 * Open workflows of every type whose workflow task keeps failing. Such a workflow cannot say so itself. A server from
 * 1.30 on writes a search attribute on it. On another server each open workflow has to be looked at: so many for each
 * reconciliation, which goes on where the one before it stopped.
 */
import { type Client, isGrpcServiceError } from '@temporalio/client';
import { tsToMs } from '@temporalio/common/lib/time.js';
import proto from '@temporalio/proto';
import { z } from 'zod';
import { PAYOUTS_TASK_QUEUE, reconciliationId } from '../contract/ids.ts';
import { FAILING_FROM_ATTEMPT, type FailingWorkflow } from '../domain/failing-workflow.ts';
import { isGone } from './client-errors.ts';
import { type ListedRun, listRunPage, listRunPages } from './visibility.ts';

const PAGE = 100;
const DESCRIBED_AT_ONCE = 8;
/** One describe takes Temporal about a millisecond. */
const MOST_OF_FEW = 500;
const MOST_OF_MANY = 1_500;
const MOST_REPORTED = 100;
/** gRPC's status of that name. */
const PERMISSION_DENIED = 7;
/** Enough to hold the last failure. */
const LAST_EVENTS = 20;

const OPEN = `TaskQueue = '${PAYOUTS_TASK_QUEUE}' AND ExecutionStatus = 'Running'`;
/** There may be ten thousands of these; of all others there are few, and more hangs on each. */
const MANY = "('payout', 'payoutFollowUp')";

export interface FoundFailing {
  /** At most the first hundred. */
  failing: FailingWorkflow[];
  /** The next look begins with workflows that started before this. Undefined: with the newest. Unix milliseconds. */
  nextBeforeMs: number | undefined;
}

/** `known`: found before, and looked at again. */
export async function findFailingWorkflows(
  client: Client,
  known: readonly string[],
  beforeMs?: number | undefined,
): Promise<FoundFailing> {
  const { ids, nextBeforeMs } = (await serverReports(client))
    ? { ids: await reportedByServer(client), nextBeforeMs: undefined }
    : await idsToLookAt(client, beforeMs);
  return { failing: await stillFailing(client, [...known, ...ids]), nextBeforeMs };
}

/** As the last reconciliation and the server know them, each looked at again. Undefined where neither has ever looked. */
export async function knownFailingWorkflows(
  client: Client,
  environment: string,
): Promise<FailingWorkflow[] | undefined> {
  const reports = await serverReports(client);
  const last = await lastReported(client, environment);
  if (!reports && !last) return undefined;
  const ids = reports ? await reportedByServer(client) : [];
  return stillFailing(client, [...(last ?? []), ...ids]);
}

async function stillFailing(client: Client, ids: readonly string[]): Promise<FailingWorkflow[]> {
  const found: FailingWorkflow[] = [];
  const left = [...new Set(ids)];
  while (left.length > 0 && found.length < MOST_REPORTED) {
    const looks = left.splice(0, DESCRIBED_AT_ONCE).map((workflowId) => failingNow(client, workflowId));
    for (const one of await Promise.all(looks)) if (one) found.push(one);
  }
  return found.slice(0, MOST_REPORTED);
}

/** The latest run of it. Asks without decoding anything: a missing key must not hide what it causes. */
async function failingNow(client: Client, workflowId: string): Promise<FailingWorkflow | undefined> {
  try {
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
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

/** Only the first failure in a row is recorded; the others are of the same cause. */
async function causeOf(client: Client, workflowId: string, runId: string): Promise<string> {
  const { history } = await client.workflowService.getWorkflowExecutionHistoryReverse({
    namespace: client.options.namespace,
    execution: { workflowId, runId },
    maximumPageSize: LAST_EVENTS,
  });
  for (const {
    workflowTaskFailedEventAttributes: failed,
    workflowTaskTimedOutEventAttributes: late,
  } of history?.events ?? []) {
    if (late) return 'TIMED_OUT';
    const name = failed && CAUSES[failed.cause ?? 0];
    if (name) return name.replace('WORKFLOW_TASK_FAILED_CAUSE_', '');
  }
  return 'UNKNOWN';
}

const CAUSES: Readonly<Record<number, string | undefined>> =
  proto.temporal.api.enums.v1.WorkflowTaskFailedCause;

/** After five failures in a row, unless its operator has turned that off. */
async function serverReports(client: Client): Promise<boolean> {
  const { namespace } = client.options;
  try {
    const { namespaceInfo } = await client.workflowService.describeNamespace({ namespace });
    return namespaceInfo?.capabilities?.reportedProblemsSearchAttribute ?? false;
  } catch (error) {
    // Who may not look at the namespace looks at each workflow.
    if (isGrpcServiceError(error) && error.code === PERMISSION_DENIED) return false;
    throw error;
  }
}

async function reportedByServer(client: Client): Promise<string[]> {
  const { runs } = await listRunPage(client, `${OPEN} AND TemporalReportedProblems IS NOT NULL`, PAGE);
  return runs.map(({ workflowId }) => workflowId);
}

async function idsToLookAt(client: Client, beforeMs: number | undefined) {
  const few = await firstOf(client, `${OPEN} AND WorkflowType NOT IN ${MANY}`, MOST_OF_FEW);
  const from = beforeMs === undefined ? '' : ` AND StartTime <= '${new Date(beforeMs).toISOString()}'`;
  const many = await firstOf(client, `${OPEN} AND WorkflowType IN ${MANY}${from}`, MOST_OF_MANY);
  const last = many.length < MOST_OF_MANY ? undefined : many.at(-1);
  // As many that started in one millisecond would be looked at for ever, and nothing else.
  const stuck = last !== undefined && last.startedMs === beforeMs;
  return {
    ids: [...few, ...many].map(({ workflowId }) => workflowId),
    nextBeforeMs: stuck ? undefined : last?.startedMs,
  };
}

async function firstOf(client: Client, query: string, most: number): Promise<ListedRun[]> {
  const found: ListedRun[] = [];
  for await (const runs of listRunPages(client, query, PAGE)) {
    found.push(...runs);
    if (found.length >= most) break;
  }
  return found.slice(0, most);
}

/** What the last reconciliation found. Undefined: none has ended yet. */
async function lastReported(client: Client, environment: string): Promise<string[] | undefined> {
  const ended = `WorkflowType = 'payoutReconciliation' AND ExecutionStatus = 'Completed'`;
  const query = `${ended} AND WorkflowId STARTS_WITH '${reconciliationId(environment)}'`;
  // The one that ended last comes first.
  const { runs } = await listRunPage(client, query, 1);
  const [last] = runs;
  if (!last) return undefined;
  const { failing } = reportSchema.parse(
    await client.workflow.getHandle(last.workflowId, last.runId).result(),
  );
  return failing.map(({ workflowId }) => workflowId);
}

const reportSchema = z.object({ failing: z.array(z.object({ workflowId: z.string() })) });
