/** Ensures that the workflow of a rate-limit lease runs: without it, no process may call the provider. */
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import { Leases } from '../../client/leases.ts';
import { leaseWorkflowId, PAYOUTS_TASK_QUEUE } from '../../contract/ids.ts';
import { settingsIn } from '../../contract/lease-settings.ts';
import type { LeaseKey, LeaseTerm, Pause } from '../../domain/rate-limit-lease.ts';
import type { Clock } from '../../surroundings/surroundings.ts';
import { APP } from '../../temporal/search-keys.ts';
import type { rateLimitLease } from '../../workflows/rate-limit-lease.ts';

const CHECK_EVERY_MS = 5_000;
const RETRY_MS = 1_000;

export interface LeaseKeeper {
  /** Checks now, and then periodically until `stop`. */
  check(): void;
  stop(): void;
}

/** `app`: the application's name, by which operators search for the lease. */
export function leaseKeeper(client: Client, key: LeaseKey, app: string, clock: Clock): LeaseKeeper {
  const workflowId = leaseWorkflowId(key.environment, key.appId);
  let cancelTimer: () => void = () => undefined;
  let isStopped = false;

  const check = () => {
    cancelTimer();
    ensure().then(
      () => checkIn(CHECK_EVERY_MS),
      () => checkIn(RETRY_MS),
    );
  };
  const checkIn = (ms: number) => {
    cancelTimer();
    if (!isStopped) cancelTimer = clock.after(ms, check);
  };
  const ensure = async () => {
    const before = await lastRecord(client, key, app);
    if (isStopped || before === undefined) return;
    await client.workflow.start<typeof rateLimitLease>('rateLimitLease', {
      taskQueue: PAYOUTS_TASK_QUEUE,
      workflowId,
      workflowIdConflictPolicy: 'USE_EXISTING',
      args: [key, { ...before, app }],
      memo: { settings: before.settings },
      typedSearchAttributes: new TypedSearchAttributes([{ key: APP, value: app }]),
      staticSummary: `rate limit of ${app}`,
    });
  };
  return {
    check,
    stop() {
      isStopped = true;
      cancelTimer();
    },
  };
}

/** Undefined if the workflow runs. If it was stopped, an owner may still send, and its settings stay in force. */
async function lastRecord(
  client: Client,
  { environment, appId }: LeaseKey,
  app: string,
): Promise<Omit<LeaseTerm, 'app'> | undefined> {
  try {
    const workflowId = leaseWorkflowId(environment, appId);
    const { status, memo } = await client.workflow.getHandle(workflowId).describe();
    if (status.name === 'RUNNING') return undefined;
    return { previousOwner: 'unknown', settings: settingsIn(memo) };
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
    return { previousOwner: 'none', settings: { paused: await pauseOf(client, environment, app) } };
  }
}

/** A pause belongs to the application, so it outlasts a change of the `app_id`. */
async function pauseOf(client: Client, environment: string, app: string): Promise<Pause | undefined> {
  try {
    return (await new Leases(client, environment).of(app)).settings.paused;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}
