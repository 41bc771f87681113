/** The workers: whether they poll the task queues, and whether one owns the rate-limit lease. */
import { WorkflowNotFoundError } from '@temporalio/client';
import { Pauses } from '../../../client/pauses.ts';
import { RateLimits } from '../../../client/rate-limits.ts';
import { apiTaskQueue, leaseWorkflowId, PAYOUTS_TASK_QUEUE } from '../../../contract/ids.ts';
import { isUnserved, messageOf } from '../../../temporal/client-errors.ts';
import { WorkflowStuckError } from '../../../temporal/queries.ts';
import type { Session } from '../session.ts';
import { pausedText } from '../text.ts';
import { type Check, checkOrUnknown, ok, problem, unknown, until } from './check.ts';

/** `TASK_QUEUE_TYPE_WORKFLOW`, `TASK_QUEUE_TYPE_ACTIVITY` */
const WORKFLOW_TASKS = 1;
const ACTIVITY_TASKS = 2;

const START_WORKER = 'start a worker: npm run worker (with the same PAYMENTS_ENVIRONMENT and application)';
/** The lease may be moving to another worker. */
const HANDOVER_MS = 5_000;
const POLL_INTERVAL_MS = 500;

export async function checkTaskQueues(session: Session, environment: string, app: string): Promise<Check[]> {
  const calls = apiTaskQueue(environment, app);
  const workflows = await checkTaskQueue(session, PAYOUTS_TASK_QUEUE, WORKFLOW_TASKS, 'worker for workflows');
  // Only the lease owner polls it, so right after the start of a worker nothing polls it yet.
  const withinMs = workflows.verdict === 'ok' ? HANDOVER_MS : 0;
  const what = `worker for provider calls of ${app}`;
  return [workflows, await checkTaskQueue(session, calls, ACTIVITY_TASKS, what, withinMs)];
}

async function checkTaskQueue(
  { client, namespace, withDeadline }: Session,
  queue: string,
  taskQueueType: typeof WORKFLOW_TASKS | typeof ACTIVITY_TASKS,
  check: string,
  withinMs = 0,
): Promise<Check> {
  const request = { namespace, taskQueue: { name: queue }, taskQueueType };
  const isPolled = await until(
    async () => {
      const { pollers } = await withDeadline(() => client.workflowService.describeTaskQueue(request));
      return (pollers ?? []).length > 0 || undefined;
    },
    POLL_INTERVAL_MS,
    withinMs,
  );
  if (isPolled) return ok(check, `polls the task queue ${queue}`);
  return problem(check, `no worker polls the task queue ${queue}`, START_WORKER);
}

/** Without a lease owner, calls to the provider wait. */
export async function checkLease(
  { client, withDeadline }: Session,
  environment: string,
  app: string,
): Promise<Check> {
  const check = 'rate-limit lease';
  const rateLimits = new RateLimits(client, environment);
  const advice = `read the worker's log, and run: temporal workflow describe --workflow-id ${leaseWorkflowId(environment, 'APP_ID')}`;
  try {
    const owned = await until(
      async () => {
        const { owner, callsPerSecond, inForce } = await withDeadline(() => rateLimits.state(app));
        return owner === null ? undefined : { owner, callsPerSecond, inForce };
      },
      POLL_INTERVAL_MS,
      HANDOVER_MS,
    );
    if (!owned) return problem(check, 'no worker owns it, so no call reaches the provider', advice);
    const number = owned.callsPerSecond ?? owned.inForce;
    const rate = number === null ? 'calls per second' : `${number} calls per second`;
    const from = owned.callsPerSecond === null ? " from the workers' configuration" : '';
    return ok(check, `owned by ${owned.owner}, ${rate}${from}`);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError)
      return problem(
        check,
        `no worker serves ${app} in ${environment}, or its app_id has another name there`,
        START_WORKER,
      );
    if (isUnserved(error)) throw error;
    if (error instanceof WorkflowStuckError) return problem(check, messageOf(error), advice);
    return unknown(check, messageOf(error), advice);
  }
}

export async function checkPause(
  { client, withDeadline }: Session,
  environment: string,
  app: string,
): Promise<Check> {
  const check = 'create calls';
  const pauses = new Pauses({ client, environment });
  return checkOrUnknown(check, 'fix the problems above, and run doctor again', async () => {
    const paused = pausedText(await withDeadline(() => pauses.state(app)));
    return paused === undefined
      ? ok(check, 'not paused')
      : problem(check, paused, `payouts resume --app ${app} --by NAME ends the pause`);
  });
}
