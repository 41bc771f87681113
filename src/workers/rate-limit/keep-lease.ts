/** Ensures that the workflow of a rate-limit lease runs: without it, no process may call the provider. */
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { Leases, startLease } from '../../client/leases.ts';
import { leaseWorkflowId } from '../../contract/ids.ts';
import { type LeaseKey, type LeaseSettings, type LeaseTerm, settingsIn } from '../../contract/rate-limit.ts';
import type { Clock } from '../../runtime/runtime.ts';

const CHECK_EVERY_MS = 5_000;
const RETRY_MS = 1_000;

export interface LeaseKeeper {
  /** Checks now, and then periodically until `stop`. */
  check(): void;
  stop(): void;
}

/** `app`: the application's name, by which operators search for the lease. */
export function leaseKeeper(client: Client, key: LeaseKey, app: string, clock: Clock): LeaseKeeper {
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
    await startLease(client, key, { ...before, app }, 'USE_EXISTING');
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
    return { previousOwner: 'none', settings: await settingsOf(client, environment, app) };
  }
}

/** They belong to the application, so they outlast a change of the `app_id`. */
async function settingsOf(client: Client, environment: string, app: string): Promise<LeaseSettings> {
  try {
    const { paused, shared } = (await new Leases(client, environment).of(app)).settings;
    return { paused, shared };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return {};
    throw error;
  }
}
