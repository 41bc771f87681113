/** Ensures that the workflow of a rate-limit lease runs: without it, no process may call the provider. */
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import { leaseWorkflowId, PAYOUTS_TASK_QUEUE } from '../../contract/ids.ts';
import type { LeaseKey, PreviousOwner } from '../../domain/rate-limit-lease.ts';
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
    const before = await previousOwner(client, workflowId);
    if (isStopped || before === undefined) return;
    await client.workflow.start<typeof rateLimitLease>('rateLimitLease', {
      taskQueue: PAYOUTS_TASK_QUEUE,
      workflowId,
      workflowIdConflictPolicy: 'USE_EXISTING',
      args: [key, { previousOwner: before, app }],
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

/** Undefined if the workflow runs. If it was stopped, an owner may still send. */
async function previousOwner(client: Client, workflowId: string): Promise<PreviousOwner | undefined> {
  try {
    const { status } = await client.workflow.getHandle(workflowId).describe();
    return status.name === 'RUNNING' ? undefined : 'unknown';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'none';
    throw error;
  }
}
