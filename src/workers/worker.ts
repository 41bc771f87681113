/** What one worker process runs: the workflows, and for each application the queue of its API calls. */
import { fileURLToPath } from 'node:url';
import type { Client } from '@temporalio/client';
import {
  bundleWorkflowCode,
  type NativeConnection,
  Worker,
  type WorkflowBundleOption,
} from '@temporalio/worker';
import { temporalHistories } from '../activities/earlier-runs.ts';
import { preparation } from '../activities/prepare-payout.ts';
import { serviceActivities } from '../activities/service-activities.ts';
import type { Application } from '../config/applications.ts';
import type { WorkerConfig } from '../config/config.ts';
import { apiTaskQueue, PAYOUTS_TASK_QUEUE } from '../domain/identity.ts';
import { serviceClient } from './service-client.ts';

export interface WorkerParts {
  config: WorkerConfig;
  connection: NativeConnection;
  client: Client;
  namespace: string;
  /** Bundled once where many workers share it; else bundled from source. */
  workflowBundle?: WorkflowBundleOption;
}

/** After a worker was killed its payouts wait this long for it before another worker takes them up. */
const STICKY_QUEUE_TIMEOUT = '2s';
/** What is under way may finish; an API call takes at most this long. */
const SHUTDOWN_GRACE = '30s';

export async function createWorkers(parts: WorkerParts): Promise<Worker[]> {
  const applications = [...parts.config.applications.values()];
  return Promise.all([
    workflowWorker(parts),
    ...applications.map((application) => apiWorker(parts, application)),
  ]);
}

export function bundleWorkflows() {
  return bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('../workflows/index.ts', import.meta.url)),
  });
}

async function workflowWorker({
  config,
  connection,
  namespace,
  workflowBundle,
}: WorkerParts): Promise<Worker> {
  return Worker.create({
    connection,
    namespace,
    taskQueue: PAYOUTS_TASK_QUEUE,
    workflowBundle: workflowBundle ?? (await bundleWorkflows()),
    activities: preparation(config),
    stickyQueueScheduleToStartTimeout: STICKY_QUEUE_TIMEOUT,
    shutdownGraceTime: SHUTDOWN_GRACE,
  });
}

async function apiWorker(
  { config, connection, client, namespace }: WorkerParts,
  application: Application,
): Promise<Worker> {
  const environment = config.env.PAYMENTS_ENVIRONMENT;
  const service = await serviceClient(config, application);
  return Worker.create({
    connection,
    namespace,
    taskQueue: apiTaskQueue(environment, application.name),
    activities: {
      ...serviceActivities({
        environment,
        app: application.name,
        client: service,
        histories: temporalHistories(client),
        stillOurs: (taskToken) => client.activity.heartbeat(taskToken),
      }),
    },
    // Whoever is fetched waits in this process and can no longer be overtaken, so no more than a second's worth.
    maxConcurrentActivityTaskExecutions: application.callsPerSecond ?? config.env.PAYMENTS_CALLS_PER_SECOND,
    shutdownGraceTime: SHUTDOWN_GRACE,
  });
}
