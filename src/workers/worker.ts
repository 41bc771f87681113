/** What one worker process runs: the workflows, and for each application the queues of its calls. */
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, Worker, type WorkflowBundleOption } from '@temporalio/worker';
import { batchActivities } from '../activities/batch-activities.ts';
import { preparation } from '../activities/prepare-payout.ts';
import { PAYOUTS_TASK_QUEUE } from '../domain/identity.ts';
import { dataConverter, FAILURE_CONVERTER_PATH } from '../encryption/data-converter.ts';
import { type ApplicationParts, applicationWorkers, SHUTDOWN_GRACE } from './application-workers.ts';

export interface WorkerParts extends ApplicationParts {
  /** Bundled once where many workers share it; else bundled from source. */
  workflowBundle?: WorkflowBundleOption;
}

/** After a worker was killed its payouts wait this long for it before another worker takes them up. */
const STICKY_QUEUE_TIMEOUT = '2s';

export async function createWorkers(parts: WorkerParts): Promise<Worker[]> {
  const applications = [...parts.config.applications.values()];
  const [workflows, ...queues] = await Promise.all([
    workflowWorker(parts),
    ...applications.map((application) => applicationWorkers(parts, application)),
  ]);
  return [workflows, ...queues.flat()];
}

export function bundleWorkflows() {
  return bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('../workflows/index.ts', import.meta.url)),
    failureConverterPath: FAILURE_CONVERTER_PATH,
  });
}

async function workflowWorker({
  config,
  connection,
  client,
  namespace,
  workflowBundle,
}: WorkerParts): Promise<Worker> {
  return Worker.create({
    connection,
    namespace,
    taskQueue: PAYOUTS_TASK_QUEUE,
    workflowBundle: workflowBundle ?? (await bundleWorkflows()),
    activities: { ...preparation(config), ...batchActivities(config, client) },
    dataConverter: dataConverter(config.keys.payloads),
    stickyQueueScheduleToStartTimeout: STICKY_QUEUE_TIMEOUT,
    shutdownGraceTime: SHUTDOWN_GRACE,
  });
}
