/** The versions of the workers that serve the task queue `payouts`, and the open payouts on each. */
import type { Client } from '@temporalio/client';
import { PAYOUTS_TASK_QUEUE } from '../contract/ids.ts';
import { countRuns } from './visibility.ts';

/** `TASK_QUEUE_TYPE_WORKFLOW`, `WORKER_VERSIONING_MODE_VERSIONED` */
export const WORKFLOW_TASKS = 1;
const VERSIONED = 2;
const DEPLOYMENTS_PER_PAGE = 100;
const OPEN = "WorkflowType = 'payout' AND ExecutionStatus = 'Running'";

export interface WorkerVersion {
  deployment: string;
  buildId: string;
  /** Which payouts start on it: all, a share, or none. */
  role: 'current' | 'ramping' | 'old';
  /** A worker of this version has polled the queue in the last minutes. */
  hasWorker: boolean;
  openPayouts: number;
}

export interface WorkerVersions {
  /** Workers without a version serve the workflows that have none. */
  hasUnversionedWorker: boolean;
  /** Whether new payouts start on a version. */
  isVersioned: boolean;
  versions: WorkerVersion[];
}

interface Named {
  deploymentName?: string | null;
  buildId?: string | null;
}

export async function workerVersions(client: Client): Promise<WorkerVersions> {
  const { namespace } = client.options;
  const { pollers, versioningInfo } = await client.workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: PAYOUTS_TASK_QUEUE },
    taskQueueType: WORKFLOW_TASKS,
  });
  const versioned = (pollers ?? []).flatMap(({ deploymentOptions }) =>
    deploymentOptions?.workerVersioningMode === VERSIONED ? [keyOf(deploymentOptions)] : [],
  );
  const current = versioningInfo?.currentDeploymentVersion;
  const ramping = versioningInfo?.rampingDeploymentVersion;
  const roles = new Map([
    ...(ramping ? [[keyOf(ramping), 'ramping'] as const] : []),
    ...(current ? [[keyOf(current), 'current'] as const] : []),
  ]);
  const found = await Promise.all(
    (await knownVersions(client)).map(async ({ deployment, buildId }): Promise<WorkerVersion> => {
      const key = keyOf({ deploymentName: deployment, buildId });
      return {
        deployment,
        buildId,
        role: roles.get(key) ?? 'old',
        hasWorker: versioned.includes(key),
        openPayouts: await countRuns(client, `${OPEN} AND TemporalWorkerDeploymentVersion = '${key}'`),
      };
    }),
  );
  return {
    hasUnversionedWorker: versioned.length < (pollers ?? []).length,
    isVersioned: Boolean(current),
    // A namespace may have deployments of other programs.
    versions: found.filter(
      ({ role, hasWorker, openPayouts }) => role !== 'old' || hasWorker || openPayouts > 0,
    ),
  };
}

/** As Temporal writes it in search attributes. */
function keyOf({ deploymentName, buildId }: Named): string {
  return `${deploymentName ?? ''}:${buildId ?? ''}`;
}

async function knownVersions(client: Client): Promise<{ deployment: string; buildId: string }[]> {
  const { namespace } = client.options;
  const found: { deployment: string; buildId: string }[] = [];
  let nextPageToken: Uint8Array = new Uint8Array();
  do {
    const page = await client.workflowService.listWorkerDeployments({
      namespace,
      pageSize: DEPLOYMENTS_PER_PAGE,
      nextPageToken,
    });
    // A deployment that is just being registered is listed without its name.
    for (const { name } of page.workerDeployments ?? [])
      if (name) found.push(...(await versionsOf(client, name)));
    nextPageToken = page.nextPageToken ?? new Uint8Array();
  } while (nextPageToken.length > 0);
  return found;
}

async function versionsOf(client: Client, deploymentName: string) {
  const { namespace } = client.options;
  const { workerDeploymentInfo } = await client.workflowService.describeWorkerDeployment({
    namespace,
    deploymentName,
  });
  return (workerDeploymentInfo?.versionSummaries ?? []).map(({ deploymentVersion }) => ({
    deployment: deploymentName,
    buildId: deploymentVersion?.buildId ?? '',
  }));
}
