/** The workers: do they serve the queues, and does one of them own the application's rate-limit lease? */
import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowNotFoundError } from '@temporalio/client';
import { RateLimits } from '../../../client/rate-limits.ts';
import { apiTaskQueue, leaseWorkflowId, PAYOUTS_TASK_QUEUE } from '../../../contract/ids.ts';
import type { Session } from '../session.ts';
import { type Check, messageOf, problem, unknown, well } from './check.ts';

/** Temporal's numbers for the two sides of a task queue. */
const WORKFLOW_TASKS = 1;
const ACTIVITY_TASKS = 2;

const START_ONE = 'start one: npm run worker (with the same PAYMENTS_ENVIRONMENT and application)';
/** The lease may be moving from one process to the next. */
const MOVES_FOR_MS = 5_000;
const LOOK_EVERY_MS = 500;

export async function queuesServed(session: Session, environment: string, app: string): Promise<Check[]> {
  const calls = apiTaskQueue(environment, app);
  return [
    await served(session, PAYOUTS_TASK_QUEUE, WORKFLOW_TASKS, 'workflows'),
    await served(session, calls, ACTIVITY_TASKS, `API calls of ${app}`),
  ];
}

async function served(
  { client, namespace, soon }: Session,
  queue: string,
  taskQueueType: typeof WORKFLOW_TASKS | typeof ACTIVITY_TASKS,
  what: string,
): Promise<Check> {
  const check = `worker for ${what}`;
  const question = { namespace, taskQueue: { name: queue }, taskQueueType };
  const { pollers } = await soon(() => client.workflowService.describeTaskQueue(question));
  if ((pollers ?? []).length === 0) return problem(check, `nobody serves the queue ${queue}`, START_ONE);
  return well(check, `queue ${queue} is served`);
}

/** Only the lease owner calls the provider: without one, calls wait. */
export async function leaseOwned(
  { client, soon }: Session,
  environment: string,
  app: string,
): Promise<Check> {
  const check = 'rate-limit lease';
  const rateLimits = new RateLimits(client, environment);
  const look = `its log says why; temporal workflow describe --workflow-id ${leaseWorkflowId(environment, 'APP_ID')}`;
  try {
    for (let waitedMs = 0; waitedMs < MOVES_FOR_MS; waitedMs += LOOK_EVERY_MS) {
      const { owner, callsPerSecond } = await soon(() => rateLimits.state(app));
      const rate = callsPerSecond === null ? "the workers' own rate" : `${callsPerSecond} calls a second`;
      if (owner !== null) return well(check, `${owner} has it, ${rate}`);
      await sleep(LOOK_EVERY_MS);
    }
    return problem(check, 'no worker has it, so no call leaves', `if a worker runs, ${look}`);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError)
      return problem(
        check,
        `no worker serves ${app} of ${environment}, or another name of the same app_id owns its lease`,
        START_ONE,
      );
    return unknown(check, `nobody answers for it: ${messageOf(error)}`, look);
  }
}
