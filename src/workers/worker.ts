/** The SDK workers of one process, one for workflows and those of each application: how they start, run and shut down. */
import type { WorkerOptions, WorkflowBundleOption } from '@temporalio/worker';
import { appIdProblem, Leases } from '../client/leases.ts';
import { plainPayloads, type WorkerEnvironment } from '../config/config.ts';
import { ConfigError } from '../config/environment.ts';
import { leaseWorkflowId } from '../contract/ids.ts';
import { dataConverter, workerConverter } from '../encryption/payload-codec.ts';
import { type Clock, Pace, sleep } from '../runtime/runtime.ts';
import { isUnserved } from '../temporal/client-errors.ts';
import { REQUEST_EVERY_MS } from '../temporal/visibility.ts';
import { type ApplicationParts, activityWorker, type Runnable, shutDown } from './activity-worker.ts';
import { applicationWorker } from './application-worker.ts';
import { Ownership } from './rate-limit/ownership.ts';
import { eventQueues, nexusQueues, payoutsQueue } from './task-queues.ts';

/** After a kill of a worker, its workflows wait this long before another worker takes them over. */
const STICKY_QUEUE_TIMEOUT = '2s';
/**
 * Between the shutdown of the leases and that of the workflows. The lease workflow chooses the next owner in a workflow
 * task, which Temporal may have reserved for this process. If it comes later, it waits for another process for seconds.
 */
const LEASE_HANDOVER_MS = 1_000;
/**
 * More than are active at any time; Temporal replays a workflow that is not in memory. The SDK's default follows the
 * largest heap that the machine allows, and fills it.
 */
const MAX_CACHED_WORKFLOWS = 1_000;

/**
 * Tasks that no worker has taken wait in Temporal, where queries overtake workflow tasks (H62); a worker serves its tasks
 * in order. So take more tasks at once than there are status reads. After another worker died, all workflow tasks are
 * on the queue that is not sticky, so give it half of the polls instead of a fifth.
 */
const WORKFLOW_TASKS = {
  maxConcurrentWorkflowTaskExecutions: 100,
  nonStickyToStickyPollRatio: 0.5,
};

/** For each application: the server limits the open polls of a namespace. */
const NEXUS_POLLS = 2;

const LIST_AGAIN_MS = 1_000;

export interface ProcessWorkers {
  /** The name of this process in Temporal. */
  identity: string;
  workflows: Runnable;
  /** The workers of the applications, of their Nexus endpoints and of their events. */
  applications: Runnable[];
}

export interface ProcessParts extends ApplicationParts {
  workflowBundle: WorkflowBundleOption;
}

export async function createWorkers(parts: ProcessParts): Promise<ProcessWorkers> {
  const { config, client, runtime, createWorker, workflowBundle, meter } = parts;
  const { clock } = runtime;
  await requireKnownAppIds(parts);
  const workflows = await createWorker({
    ...payoutsQueue(parts),
    workflowBundle,
    dataConverter: workerConverter(config.keys.payloads, runtime.random, plainPayloads(config)),
    maxCachedWorkflows: MAX_CACHED_WORKFLOWS,
    stickyQueueScheduleToStartTimeout: STICKY_QUEUE_TIMEOUT,
    shutdownGraceTime: config.env.PAYOUTS_DRAIN,
    ...WORKFLOW_TASKS,
    ...versioning(config.env),
  });
  const served = [...config.applications.values()];
  const environment = config.env.PAYMENTS_ENVIRONMENT;
  const ownership = new Ownership({
    client,
    identity: workflows.options.identity,
    keys: served.map(({ appId }) => ({ environment, appId })),
    runtime,
  });
  const collection = meter && { client, environment, meter, clock, pace: new Pace(clock, REQUEST_EVERY_MS) };
  const applications = await Promise.all([
    ...served.map((application) => applicationWorker(parts, application, ownership, collection)),
    ...eventQueues(parts).map((queue) => activityWorker(parts, queue)),
    // Temporal decides who may use an endpoint, and its callers have no key.
    ...nexusQueues(parts).map((queue) =>
      createWorker({
        ...queue,
        nexusTaskPollerBehavior: { type: 'simple-maximum', maximum: NEXUS_POLLS },
        dataConverter: dataConverter(config.keys.payloads, runtime.random),
      }),
    ),
  ]);
  return { identity: workflows.options.identity, workflows, applications };
}

/** Throws `ConfigError` if an application has another `app_id`. */
async function requireKnownAppIds({ client, config, runtime }: ProcessParts): Promise<void> {
  const environment = config.env.PAYMENTS_ENVIRONMENT;
  const ids = await leaseIds(new Leases(client, environment), runtime.clock);
  const problems = [...config.applications.values()].flatMap(({ name, appId }) => {
    const problem = appIdProblem(ids, name, leaseWorkflowId(environment, appId));
    return problem === undefined ? [] : [`PAYMENTS_APP_ID or PAYOUTS_APPS_FILE: ${problem}`];
  });
  if (problems.length > 0) throw new ConfigError(problems);
}

/** Waits until Temporal lists them. */
async function leaseIds(leases: Leases, clock: Clock): Promise<Map<string, string[]>> {
  for (;;)
    try {
      return await leases.idsByApp();
    } catch (error) {
      if (!isUnserved(error)) throw error;
      await sleep(clock, LIST_AGAIN_MS);
    }
}

/** Resolves when all workers have ended after a shutdown; rejects as soon as one fails. */
export async function runWorkers({ workflows, applications }: ProcessWorkers): Promise<void> {
  await Promise.all([workflows, ...applications].map((worker) => worker.run()));
}

export function isRunning({ workflows, applications }: ProcessWorkers): boolean {
  return [workflows, ...applications].every((worker) => worker.getState() === 'RUNNING');
}

/** First the leases, then the workflows. Resolves before the workers have ended. */
export async function shutDownInOrder(
  { workflows, applications }: ProcessWorkers,
  clock: Clock,
): Promise<void> {
  for (const application of applications) shutDown(application);
  await sleep(clock, LEASE_HANDOVER_MS);
  shutDown(workflows);
}

/**
 * Worker deployment versioning of the task queue `payouts`. The other queues have no versions: one process owns the calls of
 * an application, so a call of a payout on an old version would wait for an owner of that version (decision 32).
 *
 * Empty without `PAYOUTS_DEPLOYMENT`. Workflows that do not say otherwise follow the current version at once.
 */
export function versioning({
  PAYOUTS_DEPLOYMENT,
  PAYOUTS_BUILD_ID,
}: WorkerEnvironment): Pick<WorkerOptions, 'workerDeploymentOptions'> {
  if (PAYOUTS_DEPLOYMENT === undefined || PAYOUTS_BUILD_ID === undefined) return {};
  return {
    workerDeploymentOptions: {
      version: { deploymentName: PAYOUTS_DEPLOYMENT, buildId: PAYOUTS_BUILD_ID },
      useWorkerVersioning: true,
      defaultVersioningBehavior: 'AUTO_UPGRADE',
    },
  };
}
