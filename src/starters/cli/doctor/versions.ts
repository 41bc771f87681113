/** The versions of the workers: which ones still have open payouts, and when an old one may go. */
import { PAYOUTS_TASK_QUEUE } from '../../../contract/ids.ts';
import { type WorkerVersion, workerVersions } from '../../../temporal/worker-versions.ts';
import type { Session } from '../session.ts';
import { type Check, checkOrUnknown, ok, problem } from './check.ts';

const CHECK = 'worker versions';

export async function checkVersions({ client, withDeadline }: Session): Promise<Check> {
  return checkOrUnknown(CHECK, 'temporal worker deployment list', async () => {
    const { versions, isVersioned, hasUnversionedWorker } = await withDeadline(() => workerVersions(client));
    if (versions.length === 0) return ok(CHECK, 'the workers have none');
    const detail = versions.map(describe).join('; ');
    const orphan = versions.find(({ hasWorker, openPayouts }) => !hasWorker && openPayouts > 0);
    if (orphan) return problem(CHECK, detail, adviceFor(orphan));
    if (!isVersioned && !hasUnversionedWorker)
      return problem(
        CHECK,
        `${detail}; no version is current, so nothing starts on the task queue ${PAYOUTS_TASK_QUEUE}`,
        setCurrent(versions.at(-1)),
      );
    return ok(CHECK, detail);
  });
}

function describe({ deployment, buildId, role, hasWorker, openPayouts }: WorkerVersion): string {
  const payouts = openPayouts === 1 ? '1 open payout' : `${openPayouts} open payouts`;
  const open = `${deployment}:${buildId} (${role}): ${payouts}`;
  if (role !== 'old') return open;
  if (openPayouts > 0) return hasWorker ? `${open}, keep its workers` : `${open} and no worker`;
  return `${open}, its workers may stop`;
}

function adviceFor({ deployment, buildId }: WorkerVersion): string {
  return `start a worker with PAYOUTS_DEPLOYMENT=${deployment} PAYOUTS_BUILD_ID=${buildId} and the code of that version (docs/operations.md, Deployments)`;
}

function setCurrent(version: WorkerVersion | undefined): string {
  return `temporal worker deployment set-current-version --deployment-name ${version?.deployment} --build-id ${version?.buildId}`;
}
