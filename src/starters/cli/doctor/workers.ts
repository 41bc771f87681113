/** The workers: whether they poll the task queues, their versions, the rate-limit lease, the pause and the shared settings. */
import { WorkflowNotFoundError } from '@temporalio/client';
import type { ListedSettings } from '../../../client/shared-settings.ts';
import { apiTaskQueue, leaseWorkflowId, PAYOUTS_TASK_QUEUE } from '../../../contract/ids.ts';
import { isUnserved, messageOf, WorkflowStuckError } from '../../../temporal/client-errors.ts';
import { type WorkerVersion, workerVersions } from '../../../temporal/worker-versions.ts';
import type { Session } from '../session.ts';
import { FAILED_OVER, MISSING } from '../settings.ts';
import { pausedText } from '../text.ts';
import { ACTIVITY_TASKS, type Check, ok, problem, unknown, until, WORKFLOW_TASKS } from './checks.ts';

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
  { client, namespace }: Session,
  queue: string,
  taskQueueType: typeof WORKFLOW_TASKS | typeof ACTIVITY_TASKS,
  check: string,
  withinMs = 0,
): Promise<Check> {
  const request = { namespace, taskQueue: { name: queue }, taskQueueType };
  const isPolled = await until(
    async () => {
      const { pollers } = await client.workflowService.describeTaskQueue(request);
      return (pollers ?? []).length > 0 || undefined;
    },
    POLL_INTERVAL_MS,
    withinMs,
  );
  if (isPolled) return ok(check, `polls the task queue ${queue}`);
  return problem(check, `no worker polls the task queue ${queue}`, START_WORKER);
}

/** Without a lease owner, calls to the provider wait. */
export async function checkLease({ rateLimits }: Session, environment: string, app: string): Promise<Check> {
  const check = 'rate-limit lease';
  const advice = `read the worker's log, and run: temporal workflow describe --workflow-id ${leaseWorkflowId(environment, 'APP_ID')}`;
  try {
    const owned = await until(
      async () => {
        const { owner, callsPerSecond, inForce } = await rateLimits.state(app);
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

export async function checkPause({ pauses }: Session, app: string): Promise<Check> {
  const check = 'create calls';
  const paused = pausedText(await pauses.state(app));
  return paused === undefined
    ? ok(check, 'not paused')
    : problem(check, paused, `payouts resume --app ${app} --by NAME ends the pause`);
}

const VERSIONS = 'worker versions';

export async function checkVersions({ client }: Session): Promise<Check> {
  const { versions, isVersioned, hasUnversionedWorker } = await workerVersions(client);
  if (versions.length === 0) return ok(VERSIONS, 'the workers have none');
  const detail = versions.map(versionText).join('; ');
  const orphan = versions.find(({ hasWorker, openPayouts }) => !hasWorker && openPayouts > 0);
  if (orphan) return problem(VERSIONS, detail, adviceForOrphan(orphan));
  if (!isVersioned && !hasUnversionedWorker)
    return problem(
      VERSIONS,
      `${detail}; no version is current, so nothing starts on the task queue ${PAYOUTS_TASK_QUEUE}`,
      setCurrent(versions.at(-1)),
    );
  return ok(VERSIONS, detail);
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

const SETTINGS = 'shared settings';
/** The lease may be moving to another worker. */
const SETTINGS_HANDOVER_MS = 10_000;

export async function checkSharedSettings(
  { sharedSettings }: Pick<Session, 'sharedSettings'>,
  app: string,
): Promise<Check> {
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

/** An earlier `app_id` of the application has its own lease, which no process may own. */
function settingsCheck(own: readonly ListedSettings[], all: readonly ListedSettings[]): Check {
  const [missing] = own.filter(({ shared }) => !shared);
  if (missing || own.length === 0) return problem(SETTINGS, 'nobody has set them', MISSING);
  if (own.some(({ hasFailedOver }) => hasFailedOver))
    return problem(SETTINGS, 'the namespace has failed over since they were set', FAILED_OVER);
  const [current] = own.filter(isCurrent);
  const [stored] = own;
  if (!current)
    return problem(
      SETTINGS,
      `version ${stored?.shared?.version} is set, and the lease owner reports ${stored?.inForce ?? 'none'}`,
      "a worker of another version may own the lease: read the workers' logs",
    );
  const times = new Map(all.map(({ app, shared }) => [app, shared?.recoveredAt ?? 'never']));
  if (new Set(times.values()).size > 1) {
    const texts = [...times].map(([app, time]) => `${app}: ${time}`).join(', ');
    const advice =
      'a restore concerns every application: settings --recovered-at TIME --by NAME --reason TEXT';
    return problem(SETTINGS, `the applications differ in when Temporal recovered (${texts})`, advice);
  }
  const { version, by, at, recoveredAt } = current.shared ?? {};
  return ok(SETTINGS, `version ${version}, by ${by}, ${at}; Temporal recovered: ${recoveredAt ?? 'never'}`);
}
