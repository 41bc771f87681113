/** What every worker process keeps in place at Temporal, even while Temporal does not respond. */
import { type Client, ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import { deliveryOptions } from '../client/events.ts';
import { latestSettings } from '../client/lease-settings.ts';
import { startLease } from '../client/leases.ts';
import type { WorkerConfig } from '../config/config.ts';
import { leaseWorkflowId, PAYOUTS_TASK_QUEUE, reconciliationId, reportId } from '../contract/ids.ts';
import type { LeaseKey, LeaseTerm } from '../contract/rate-limit.ts';
import type { WorkflowSignatures } from '../contract/workflows.ts';
import type { ProblemLog } from '../observability/log.ts';
import type { Clock } from '../runtime/runtime.ts';
import { messageOf, unlessGone } from '../temporal/client-errors.ts';

const RETRY_MS = 5_000;

/** Checks now, and then periodically until `stop`. */
interface Keeper {
  check(): void;
  stop(): void;
}

interface Ensured {
  ensure: (isStopped: () => boolean) => Promise<void>;
  onFailure?: (error: unknown) => void;
  /** The pause after a success, in milliseconds. Without it, one success is enough. */
  everyMs?: number;
  /** The pause after a failure. */
  retryMs?: number;
}

function keeperOf(clock: Clock, { ensure, onFailure, everyMs, retryMs = RETRY_MS }: Ensured): Keeper {
  let cancelTimer: () => void = () => undefined;
  let isStopped = false;
  const check = async () => {
    cancelTimer();
    const nextMs = await ensure(() => isStopped).then(
      () => everyMs,
      (error: unknown) => {
        onFailure?.(error);
        return retryMs;
      },
    );
    cancelTimer();
    if (!isStopped && nextMs !== undefined) cancelTimer = clock.after(nextMs, check);
  };
  return {
    check,
    stop() {
      isStopped = true;
      cancelTimer();
    },
  };
}

/** Ensures in the background until the returned function is called. Logs the first failure, which says what cannot be done. */
function inBackground(
  clock: Clock,
  log: ProblemLog,
  failure: string,
  ensured: Omit<Ensured, 'onFailure'>,
): () => void {
  let isLogged = false;
  const onFailure = (error: unknown) => {
    if (!isLogged) log.error(`${failure}: ${messageOf(error)}`);
    isLogged = true;
  };
  const keeper = keeperOf(clock, { ...ensured, onFailure });
  keeper.check();
  return keeper.stop;
}

/** Runs `ensureSchedules` in the background until it succeeds. Returns a function that stops the retries. */
export function keepSchedules(
  client: Client,
  config: WorkerConfig,
  clock: Clock,
  log: ProblemLog,
): () => void {
  const ensure = () => ensureSchedules(client, config);
  return inBackground(clock, log, 'cannot create the Schedules yet', { ensure });
}

/** Creates missing Schedules and updates the others to this process's configuration. A paused Schedule stays paused. */
export async function ensureSchedules(client: Client, { env }: WorkerConfig): Promise<void> {
  const environment = env.PAYMENTS_ENVIRONMENT;
  // A follow-up must start before its first check is due.
  const every = Math.max(1_000, Math.min(env.PAYOUTS_RECONCILE_EVERY, ...env.PAYOUTS_FOLLOW_UP));
  const schedules = [
    {
      workflowType: 'payoutReconciliation',
      workflowId: reconciliationId(environment),
      staticSummary: 'restarts stopped payouts, follows up ended payouts',
      spec: { intervals: [{ every }] },
      // One run catches up on all that were missed.
      policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '5m' } as const,
    },
    {
      workflowType: 'payoutReport',
      workflowId: reportId(environment),
      staticSummary: 'payouts of the day before',
      // UTC. By then, visibility shows the whole day before.
      spec: { calendars: [{ hour: 0, minute: 10 }] },
      // Each day needs its own report, even after an outage of days.
      policies: { overlap: ScheduleOverlapPolicy.BUFFER_ALL, catchupWindow: '7d' } as const,
    },
  ];
  for (const { spec, policies, ...workflow } of schedules) {
    const { workflowId: scheduleId } = workflow;
    const args = [{ environment }];
    const action = { ...workflow, type: 'startWorkflow', taskQueue: PAYOUTS_TASK_QUEUE, args } as const;
    try {
      await client.schedule.create({ scheduleId, spec, action, policies });
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
      await client.schedule.getHandle(scheduleId).update(({ state }) => ({ spec, action, policies, state }));
    }
  }
}

/** A delivery that was stopped starts again. What it knew is lost; the workflows still have their events. */
const DELIVERY_CHECK_EVERY_MS = 60_000;

/**
 * Starts the deliveries of this process's endpoints, so that operators see and test an endpoint before its first event.
 * Runs in the background until the returned function is called.
 */
export function keepDeliveries(
  client: Client,
  { env, events }: WorkerConfig,
  clock: Clock,
  log: ProblemLog,
): () => void {
  const keys = [...events].flatMap(([app, endpoints]) =>
    endpoints.map(({ name: endpoint }) => ({ environment: env.PAYMENTS_ENVIRONMENT, app, endpoint })),
  );
  if (keys.length === 0) return () => undefined;
  const ensure = async () => {
    for (const key of keys)
      await client.workflow.start<WorkflowSignatures['eventDelivery']>('eventDelivery', {
        ...deliveryOptions(key),
        workflowIdConflictPolicy: 'USE_EXISTING',
      });
  };
  const every = { ensure, everyMs: DELIVERY_CHECK_EVERY_MS };
  return inBackground(clock, log, 'cannot start the deliveries of events yet', every);
}

/** An owner notices by itself that the workflow has ended, and then checks immediately. */
const LEASE_CHECK_EVERY_MS = 120_000;
const LEASE_RETRY_MS = 1_000;

/**
 * Ensures that the workflow of a rate-limit lease runs: without it, no process may call the provider.
 * `app`: the application's name, by which operators search for the lease.
 */
export function leaseKeeper(client: Client, key: LeaseKey, app: string, clock: Clock): Keeper {
  const ensure = async (isStopped: () => boolean) => {
    const before = await lastRecord(client, key);
    if (isStopped() || before === undefined) return;
    await startLease(client, key, { ...before, app }, 'USE_EXISTING');
  };
  return keeperOf(clock, { ensure, everyMs: LEASE_CHECK_EVERY_MS, retryMs: LEASE_RETRY_MS });
}

/** Undefined if the workflow runs. If it was stopped, an owner may still send, and its settings stay in force. */
async function lastRecord(
  client: Client,
  { environment, appId }: LeaseKey,
): Promise<Omit<LeaseTerm, 'app'> | undefined> {
  const workflowId = leaseWorkflowId(environment, appId);
  const last = await unlessGone(() => client.workflow.getHandle(workflowId).describe());
  if (last?.status.name === 'RUNNING') return undefined;
  if (!last) return { previousOwner: 'none', settings: {} };
  return { previousOwner: 'unknown', settings: await latestSettings(client, last) };
}
