/**
 * Whether Temporal serves tasks by priority. The version does not tell, because priorities can be disabled. So this check
 * leaves one task of the highest priority on a queue without workers, and reads under which priority Temporal keeps it.
 */
import { randomUUID } from 'node:crypto';
import { clockOffset } from '../../../domain/time.ts';
import { isUnserved, messageOf } from '../../../temporal/client-errors.ts';
import type { Session } from '../session.ts';
import { type Check, type CheckWithClock, ok, problem, unknown, until } from './check.ts';

const CHECK = 'priorities';
/** `TASK_QUEUE_TYPE_WORKFLOW` */
const WORKFLOW_TASKS = 1;
const HIGHEST = 1;
const POLL_INTERVAL_MS = 100;
const TIMEOUT_MS = 15_000;
const WITHOUT = 'without priorities nothing is lost, but in a backlog locks expire (docs/how-it-works.md)';

/** `clock`: the offset of Temporal's clock from this machine's. */
export async function checkPriorities(session: Session): Promise<CheckWithClock> {
  const { client, withDeadline } = session;
  const queue = `priority-probe:${randomUUID()}`;
  const sentMs = Date.now();
  try {
    const handle = await withDeadline(() =>
      client.workflow.start('priorityProbe', {
        taskQueue: queue,
        workflowId: queue,
        workflowExecutionTimeout: '1 minute',
        priority: { priorityKey: HIGHEST },
      }),
    );
    const answeredMs = Date.now();
    try {
      const check = verdictOf(await reportedPriority(session, queue));
      const { startTime } = await withDeadline(() => handle.describe());
      return { check, clock: clockOffset(startTime.getTime(), sentMs, answeredMs) };
    } finally {
      await withDeadline(() => handle.terminate('no longer needed')).catch(() => undefined);
    }
  } catch (error) {
    if (isUnserved(error)) throw error;
    return { check: unknown(CHECK, `the test failed: ${messageOf(error)}`, WITHOUT) };
  }
}

/** The priority under which the task is queued; undefined if Temporal reports none. */
async function reportedPriority(session: Session, queue: string): Promise<number | undefined> {
  const { client, namespace, withDeadline } = session;
  const taskQueue = { name: queue };
  const request = { namespace, taskQueue, taskQueueType: WORKFLOW_TASKS, reportStats: true };
  return until(
    async () => {
      const { statsByPriorityKey } = await withDeadline(() =>
        client.workflowService.describeTaskQueue(request),
      );
      const queued = Object.entries(statsByPriorityKey ?? {}).find(
        ([, stats]) => Number(stats.approximateBacklogCount ?? 0) > 0,
      );
      return queued && Number(queued[0]);
    },
    POLL_INTERVAL_MS,
    TIMEOUT_MS,
  );
}

function verdictOf(priority: number | undefined): Check {
  if (priority === HIGHEST) return ok(CHECK, 'Temporal serves urgent tasks first');
  if (priority === undefined) return unknown(CHECK, 'Temporal does not report them', WITHOUT);
  return problem(
    CHECK,
    'Temporal ignores them: it serves all tasks in order of arrival',
    'set matching.useNewMatcher to true in its dynamic configuration (deploy/temporal/dynamicconfig/payouts.yaml)',
  );
}
