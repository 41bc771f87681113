/** Which of our worker processes is the lease owner, according to Temporal. */
import { WorkflowNotFoundError } from '@temporalio/client';
import { leaseWorkflowId } from '../../src/contract/ids.ts';
import { eventually } from './eventually.ts';
import type { PayoutWorld } from './payout-world.ts';
import type { OwnProcess } from './processes.ts';

/** `PENDING_ACTIVITY_STATE_STARTED` */
const STARTED = 2;

export async function ownerAmong(world: PayoutWorld, workers: readonly OwnProcess[]): Promise<OwnProcess> {
  const pid = await eventually(() => ownerPid(world));
  const found = workers.find(({ child }) => child.pid === pid);
  if (!found) throw new Error(`${pid} is none of ours`);
  return found;
}

async function ownerPid(world: PayoutWorld): Promise<number | undefined> {
  const handle = world.client.workflow.getHandle(leaseWorkflowId('test', 'demo-app'));
  const { raw } = await handle.describe().catch(notYet);
  const [pending] = raw?.pendingActivities ?? [];
  if (pending?.state !== STARTED || !pending.lastWorkerIdentity) return undefined;
  return Number.parseInt(pending.lastWorkerIdentity, 10);
}

/** The first worker starts it soon after it reports that it is ready. */
function notYet(error: unknown): { raw?: undefined } {
  if (error instanceof WorkflowNotFoundError) return {};
  throw error;
}
