/** What one worker process runs: the workflows, and for each application, while it owns the lease, its calls. */
import type { WorkflowBundleOption } from '@temporalio/worker';
import { reconcileActivities } from '../activities/aftercare/reconcile-activities.ts';
import { reportActivities } from '../activities/aftercare/report-activities.ts';
import { batchActivities } from '../activities/batch/batch-activities.ts';
import { operationActivities } from '../activities/payout/operation-activities.ts';
import { preparation } from '../activities/payout/prepare-payout.ts';
import { recallActivities } from '../activities/tokens/recall-grant.ts';
import { PAYOUTS_TASK_QUEUE } from '../contract/ids.ts';
import { dataConverter } from '../encryption/data-converter.ts';
import { payoutsServiceHandler } from '../nexus/payouts-service.ts';
import type { ApplicationParts, Runnable } from './activity-worker.ts';
import { applicationServer, SHUTDOWN_GRACE } from './application-workers.ts';
import { Ownership } from './rate-limit/ownership.ts';
import { TokenHistories } from './tokens/token-histories.ts';

/** After a worker was killed its payouts wait this long for it before another worker takes them up. */
const STICKY_QUEUE_TIMEOUT = '2s';

/**
 * More than those that are at work at any moment; one that waits is read again from its history when something happens.
 * The default follows the largest heap that the machine allows, and fills it.
 */
const KEPT_IN_MEMORY = 1_000;

/**
 * What a worker has not taken waits at the server, where queries go ahead of workflow tasks (H62); what it has taken it
 * serves in turn. So it takes more at once than status reads ask, and polls the queue of the workflows, to which everything
 * goes after another worker has died, with half of its polls instead of a fifth.
 */
const TAKEN = {
  maxConcurrentWorkflowTaskExecutions: 100,
  maxConcurrentWorkflowTaskPolls: 20,
  nonStickyToStickyPollRatio: 0.5,
};

export interface ProcessWorkers {
  workflows: Runnable;
  /** One for each application. */
  servers: Runnable[];
}

export interface ProcessParts extends ApplicationParts {
  workflowBundle: WorkflowBundleOption;
}

export async function createWorkers(parts: ProcessParts): Promise<ProcessWorkers> {
  const workflows = await workflowWorker(parts);
  const applications = [...parts.config.applications.values()];
  const environment = parts.config.env.PAYMENTS_ENVIRONMENT;
  const places = applications.map(({ appId }) => ({ environment, appId }));
  const ownership = new Ownership({
    client: parts.client,
    identity: workflows.options.identity,
    places,
    surroundings: parts.surroundings,
  });
  const servers = await Promise.all(
    applications.map((application) => applicationServer(parts, application, ownership)),
  );
  return { workflows, servers };
}

function workflowWorker({ config, client, surroundings, createWorker, workflowBundle }: ProcessParts) {
  const { clock, random } = surroundings;
  return createWorker({
    taskQueue: PAYOUTS_TASK_QUEUE,
    workflowBundle,
    activities: {
      ...preparation(config, clock),
      ...batchActivities(config, client, clock),
      ...reconcileActivities(config, client, clock),
      ...reportActivities(config, client, clock),
      ...operationActivities(config, client, clock),
      ...recallActivities(new TokenHistories(client)),
    },
    nexusServices: [payoutsServiceHandler(config.env.PAYMENTS_ENVIRONMENT)],
    dataConverter: dataConverter(config.keys.payloads, random),
    maxCachedWorkflows: KEPT_IN_MEMORY,
    stickyQueueScheduleToStartTimeout: STICKY_QUEUE_TIMEOUT,
    shutdownGraceTime: SHUTDOWN_GRACE,
    ...TAKEN,
  });
}
