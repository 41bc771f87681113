/**
 * Worker deployment versioning of the task queue `payouts`. The other queues have no versions: one process owns the calls of
 * an application, so a call of a payout on an old version would wait for an owner of that version (decision 32).
 */
import type { WorkerOptions } from '@temporalio/worker';
import type { WorkerEnvironment } from '../config/config.ts';

type Versioning = Pick<WorkerOptions, 'workerDeploymentOptions'>;

/** Empty without `PAYOUTS_DEPLOYMENT`. Workflows that do not say otherwise follow the current version at once. */
export function versioning({ PAYOUTS_DEPLOYMENT, PAYOUTS_BUILD_ID }: WorkerEnvironment): Versioning {
  if (PAYOUTS_DEPLOYMENT === undefined || PAYOUTS_BUILD_ID === undefined) return {};
  return {
    workerDeploymentOptions: {
      version: { deploymentName: PAYOUTS_DEPLOYMENT, buildId: PAYOUTS_BUILD_ID },
      useWorkerVersioning: true,
      defaultVersioningBehavior: 'AUTO_UPGRADE',
    },
  };
}
