/**
 * Temporal: its version, the namespace and its retention, the search attributes, priorities, stuck workflows, and the
 * schedule of the reconciliation.
 */
import { randomUUID } from 'node:crypto';
import { isGrpcServiceError, ScheduleNotFoundError } from '@temporalio/client';
import { followUpsMs } from '../../../config/client-config.ts';
import { reconciliationId } from '../../../contract/ids.ts';
import { describeFailingWorkflow } from '../../../domain/reconciliation.ts';
import { clockOffset, DAY_MS, HOUR_MS } from '../../../domain/time.ts';
import { isGone, isUnserved, messageOf } from '../../../temporal/client-errors.ts';
import { findFailingWorkflows, knownFailingWorkflows } from '../../../temporal/failing-workflows.ts';
import {
  missingSearchAttributes,
  namespaceCommand,
  registrationCommand,
} from '../../../temporal/namespace.ts';
import { WORKFLOW_TASKS } from '../../../temporal/worker-versions.ts';
import type { Session } from '../session.ts';
import { type Finding, ok, problem, unknown, until } from './checks.ts';

/** A follow-up needs the history of the payout until its last check is done. */
const MARGIN_MS = DAY_MS;

export async function checkVersion({ client, address }: Session): Promise<Finding> {
  const { serverVersion } = await client.workflowService.getSystemInfo({});
  return ok(`${address}, server ${serverVersion || 'version unknown'}`);
}

export async function checkNamespace({ client, namespace }: Session, environment: string): Promise<Finding> {
  try {
    const { config } = await client.workflowService.describeNamespace({ namespace });
    const retentionMs = Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0) * 1_000;
    return retention(namespace, retentionMs, environment, followUpsMs(process.env));
  } catch (error) {
    if (!isGrpcServiceError(error) || isUnserved(error)) throw error;
    if (isGone(error))
      return problem(
        `${namespace} does not exist`,
        `set TEMPORAL_NAMESPACE, or: ${namespaceCommand(namespace)}`,
        'the namespace does not exist',
      );
    return unknown(
      `${namespace} cannot be read: ${error.details}`,
      'ask the operator of Temporal for its retention',
    );
  }
}

/** Histories of ended payouts prove what was sent, and follow-ups read them. */
function retention(
  namespace: string,
  retentionMs: number,
  environment: string,
  followUps: readonly number[] = [],
): Finding {
  const neededMs = Math.max(0, ...followUps) + MARGIN_MS;
  const detail = `${namespace} has a retention of ${days(retentionMs)}`;
  if (retentionMs >= neededMs) return ok(detail);
  if (environment === 'test') return ok(`${detail}: enough for tests; production needs ${days(neededMs)}`);
  return problem(
    `${detail}, but follow-ups need ${days(neededMs)}`,
    `temporal operator namespace update --retention ${Math.ceil(neededMs / DAY_MS)}d --namespace ${namespace}`,
  );
}

function days(ms: number): string {
  return ms < 2 * DAY_MS ? `${Math.round(ms / HOUR_MS)} hours` : `${Math.round(ms / DAY_MS)} days`;
}

export async function checkSearchAttributes({ client, namespace }: Session): Promise<Finding> {
  const missing = await missingSearchAttributes(client.connection, namespace);
  if (missing.length === 0) return ok('all registered');
  return problem(`missing: ${missing.join(', ')}`, registrationCommand(missing, namespace));
}

const HIGHEST = 1;
const PRIORITY_POLL_MS = 100;
const PRIORITY_TIMEOUT_MS = 15_000;
const WITHOUT = 'without priorities nothing is lost, but in a backlog locks expire (docs/how-it-works.md)';

/**
 * Whether Temporal serves tasks by priority. The version does not tell, because priorities can be disabled. So this check
 * leaves one task of the highest priority on a queue without workers, and reads under which priority Temporal keeps it.
 * `clock`: the offset of Temporal's clock from this machine's.
 */
export async function checkPriorities(session: Session): Promise<Finding> {
  const { client } = session;
  const queue = `priority-probe:${randomUUID()}`;
  const sentMs = Date.now();
  try {
    const handle = await client.workflow.start('priorityProbe', {
      taskQueue: queue,
      workflowId: queue,
      workflowExecutionTimeout: '1 minute',
      priority: { priorityKey: HIGHEST },
    });
    const respondedMs = Date.now();
    try {
      const found = priorityFinding(await reportedPriority(session, queue));
      const { startTime } = await handle.describe();
      return { ...found, clock: clockOffset(startTime.getTime(), sentMs, respondedMs) };
    } finally {
      await handle.terminate('no longer needed').catch(() => undefined);
    }
  } catch (error) {
    if (isUnserved(error)) throw error;
    return unknown(`the test failed: ${messageOf(error)}`, WITHOUT);
  }
}

/** The priority under which the task is queued; undefined if Temporal reports none. */
async function reportedPriority(session: Session, queue: string): Promise<number | undefined> {
  const { client, namespace } = session;
  const taskQueue = { name: queue };
  const request = { namespace, taskQueue, taskQueueType: WORKFLOW_TASKS, reportStats: true };
  return until(
    async () => {
      const { statsByPriorityKey } = await client.workflowService.describeTaskQueue(request);
      const queued = Object.entries(statsByPriorityKey ?? {}).find(
        ([, stats]) => Number(stats.approximateBacklogCount ?? 0) > 0,
      );
      return queued && Number(queued[0]);
    },
    PRIORITY_POLL_MS,
    PRIORITY_TIMEOUT_MS,
  );
}

function priorityFinding(priority: number | undefined): Finding {
  if (priority === HIGHEST) return ok('Temporal serves urgent tasks first');
  if (priority === undefined) return unknown('Temporal does not report them', WITHOUT);
  return problem(
    'Temporal ignores them: it serves all tasks in order of arrival',
    'set matching.useNewMatcher to true in its dynamic configuration (deploy/temporal/dynamicconfig/payouts.yaml)',
  );
}

const MAX_NAMED = 5;

/** Checks the workflows that were reported as stuck, and the newest open workflows. */
export async function checkWorkflowTasks({ client }: Session, environment: string): Promise<Finding> {
  const known = (await knownFailingWorkflows(client, environment)) ?? [];
  const ids = known.map(({ workflowId }) => workflowId);
  const { failing } = await findFailingWorkflows(client, ids);
  if (failing.length === 0) return ok('no workflow is stuck');
  const named = failing
    .slice(0, MAX_NAMED)
    .map((one) => `${one.workflowId}: ${describeFailingWorkflow(one)}`);
  const more = failing.length > MAX_NAMED ? `; and ${failing.length - MAX_NAMED} more` : '';
  return problem(named.join('; ') + more, 'see docs/operations.md, Stuck workflows');
}

export async function checkReconciliation({ client }: Session, environment: string): Promise<Finding> {
  const id = reconciliationId(environment);
  try {
    const { state, info } = await client.schedule.getHandle(id).describe();
    if (state.paused)
      return problem(
        `the schedule is paused, so stopped payouts are not started again${state.note ? ` (${state.note})` : ''}`,
        `temporal schedule toggle --unpause --schedule-id ${id}`,
      );
    const next = info.nextActionTimes[0];
    return ok(next ? `next run at ${next.toISOString()}` : 'is scheduled');
  } catch (error) {
    if (!(error instanceof ScheduleNotFoundError)) throw error;
    const advice = "workers create it when they start: read a worker's log";
    return problem('the schedule does not exist', advice);
  }
}
