/** The workers: whether they poll the task queues, their versions, the rate-limit lease, the pause and the shared settings. */
import { WorkflowNotFoundError } from '@temporalio/client';
import type { ListedSettings } from '../../../client/shared-settings.ts';
import { apiTaskQueue, leaseWorkflowId, PAYOUTS_TASK_QUEUE } from '../../../contract/ids.ts';
import { isUnserved, messageOf, WorkflowStuckError } from '../../../temporal/client-errors.ts';
import { type WorkerVersion, workerVersions } from '../../../temporal/worker-versions.ts';
import { lastSeen, NoWorkerError } from '../../../temporal/worker-watch.ts';
import type { Session } from '../session.ts';
import { FAILED_OVER, MISSING } from '../settings.ts';
import { pausedText } from '../text.ts';
import { ACTIVITY_TASKS, type Finding, ok, problem, unknown, until } from './checks.ts';

const START_WORKER = 'start a worker with the same PAYMENTS_ENVIRONMENT and application';
/** The lease may be moving to another worker. */
const HANDOVER_MS = 5_000;
const POLL_INTERVAL_MS = 500;

export async function checkWorker(session: Session): Promise<Finding> {
  try {
    await session.requireWorker();
    return ok(`polls the task queue ${PAYOUTS_TASK_QUEUE}`);
  } catch (error) {
    if (!(error instanceof NoWorkerError)) throw error;
    return problem(error.message, START_WORKER, error.message);
  }
}

/** Only the lease owner polls it, so right after the start of a worker nothing polls it yet. */
export async function checkCallQueue(
  { client }: Session,
  environment: string,
  app: string,
): Promise<Finding> {
  const queue = apiTaskQueue(environment, app);
  const polled = () => lastSeen(client, queue, ACTIVITY_TASKS);
  return (await until(polled, POLL_INTERVAL_MS, HANDOVER_MS))
    ? ok(`polls the task queue ${queue}`)
    : problem(`no worker polls the task queue ${queue}`, START_WORKER, 'no worker can call it');
}

/** Without a lease owner, calls to the provider wait. */
export async function checkLease({ leases }: Session, environment: string, app: string): Promise<Finding> {
  const advice = `read the worker's log, and run: temporal workflow describe --workflow-id ${leaseWorkflowId(environment, 'APP_ID')}`;
  const look = async () => {
    const { owner, callsPerSecond, inForce } = await leases.rateLimit(app);
    return owner === null ? undefined : { owner, callsPerSecond, inForce };
  };
  try {
    const owned = await until(look, POLL_INTERVAL_MS, HANDOVER_MS);
    if (!owned) return problem('no worker owns it, so no call reaches the provider', advice);
    const { owner, callsPerSecond, inForce } = owned;
    const number = callsPerSecond ?? inForce;
    const rate = number === null ? 'calls per second' : `${number} calls per second`;
    return ok(
      `owned by ${owner}, ${rate}${callsPerSecond === null ? " from the workers' configuration" : ''}`,
    );
  } catch (error) {
    if (error instanceof WorkflowNotFoundError)
      return problem(
        `no worker serves ${app} in ${environment}, or its app_id has another name there`,
        START_WORKER,
      );
    if (isUnserved(error)) throw error;
    return error instanceof WorkflowStuckError
      ? problem(messageOf(error), advice)
      : unknown(messageOf(error), advice);
  }
}

export async function checkPause({ pauses }: Session, app: string): Promise<Finding> {
  const paused = pausedText(await pauses.state(app));
  return paused === undefined
    ? ok('not paused')
    : problem(paused, `payouts resume --app ${app} --by NAME ends the pause`);
}

export async function checkVersions({ client }: Session): Promise<Finding> {
  const { versions, isVersioned, hasUnversionedWorker } = await workerVersions(client);
  if (versions.length === 0) return ok('the workers have none');
  const detail = versions.map(versionText).join('; ');
  const orphan = versions.find(({ hasWorker, openPayouts }) => !hasWorker && openPayouts > 0);
  if (orphan) return problem(detail, adviceForOrphan(orphan));
  if (!isVersioned && !hasUnversionedWorker)
    return problem(
      `${detail}; no version is current, so nothing starts on the task queue ${PAYOUTS_TASK_QUEUE}`,
      setCurrent(versions.at(-1)),
      'no version is current',
    );
  return ok(detail);
}

function versionText({ deployment, buildId, role, hasWorker, openPayouts }: WorkerVersion): string {
  const payouts = openPayouts === 1 ? '1 open payout' : `${openPayouts} open payouts`;
  const open = `${deployment}:${buildId} (${role}): ${payouts}`;
  if (role !== 'old') return open;
  if (openPayouts > 0) return hasWorker ? `${open}, keep its workers` : `${open} and no worker`;
  return `${open}, its workers may stop`;
}

function adviceForOrphan({ deployment, buildId }: WorkerVersion): string {
  return `start a worker with PAYOUTS_DEPLOYMENT=${deployment} PAYOUTS_BUILD_ID=${buildId} and the code of that version (docs/operations.md, Deployments)`;
}

function setCurrent(version: WorkerVersion | undefined): string {
  return `temporal worker deployment set-current-version --deployment-name ${version?.deployment} --build-id ${version?.buildId}`;
}

/** The lease may be moving to another worker. */
const SETTINGS_HANDOVER_MS = 10_000;

export async function checkSharedSettings(
  { sharedSettings }: Pick<Session, 'sharedSettings'>,
  app: string,
): Promise<Finding> {
  const settled = async () => {
    const found = await sharedSettings.list();
    const own = found.filter((one) => one.app === app);
    return own.length === 0 || own.some(isCurrent) || own.some(isUseless) ? found : undefined;
  };
  const settledInTime = await until(settled, POLL_INTERVAL_MS, SETTINGS_HANDOVER_MS);
  const found = settledInTime ?? (await sharedSettings.list());
  return settingsCheck(
    found.filter((one) => one.app === app),
    found,
  );
}

/** The lease owner works with what was set last. */
function isCurrent({ shared, inForce }: ListedSettings): boolean {
  return shared !== null && inForce === shared.version;
}

function isUseless({ shared, hasFailedOver }: ListedSettings): boolean {
  return !shared || hasFailedOver;
}

/** One of several leases with the application's name may have no owner. */
function settingsCheck(own: readonly ListedSettings[], all: readonly ListedSettings[]): Finding {
  const [missing] = own.filter(({ shared }) => !shared);
  if (missing || own.length === 0) return problem('nobody has set them', MISSING);
  if (own.some(({ hasFailedOver }) => hasFailedOver))
    return problem('the namespace has failed over since they were set', FAILED_OVER);
  const [current] = own.filter(isCurrent);
  const [stored] = own;
  if (!current)
    return problem(
      `version ${stored?.shared?.version} is set, and the lease owner reports ${stored?.inForce ?? 'none'}`,
      "a worker of another version may own the lease: read the workers' logs",
    );
  const times = new Map(all.map(({ app, shared }) => [app, shared?.recoveredAt ?? 'never']));
  if (new Set(times.values()).size > 1) {
    const texts = [...times].map(([app, time]) => `${app}: ${time}`).join(', ');
    const advice =
      'a restore concerns every application: settings --recovered-at TIME --by NAME --reason TEXT';
    return problem(`the applications differ in when Temporal recovered (${texts})`, advice);
  }
  const { version, by, at, recoveredAt } = current.shared ?? {};
  return ok(`version ${version}, by ${by}, ${at}; Temporal recovered: ${recoveredAt ?? 'never'}`);
}
