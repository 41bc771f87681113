/** Which of a world's worker processes is the lease owner, according to Temporal. */
import { WorkflowNotFoundError } from '@temporalio/client';
import { leaseWorkflowId } from '../../src/contract/ids.ts';
import type { Process } from '../../worlds/process/life.ts';
import { eventually } from './eventually.ts';
import type { OwnProcess } from './processes.ts';
import type { TestWorld } from './test-world.ts';
import type { VirtualWorld } from './virtual-world.ts';

/** `PENDING_ACTIVITY_STATE_STARTED` */
const STARTED = 2;

export async function ownerAmong(world: TestWorld, workers: readonly OwnProcess[]): Promise<OwnProcess> {
  const pid = Number.parseInt(await eventually(() => ownerIdentity(world)), 10);
  const found = workers.find(({ child }) => child.pid === pid);
  if (!found) throw new Error(`${pid} is none of ours`);
  return found;
}

/** The owner among the simulated processes, once it is not `former`. */
export async function simulatedOwner(world: VirtualWorld, former?: Process): Promise<Process> {
  return eventually(async () => {
    const identity = await ownerIdentity(world);
    return world.system.processes.find(
      (process) => process !== former && process.life && process.life.name === identity,
    );
  });
}

async function ownerIdentity({ client }: Pick<TestWorld, 'client'>): Promise<string | undefined> {
  const handle = client.workflow.getHandle(leaseWorkflowId('test', 'demo-app'));
  const { raw } = await handle.describe().catch(notYet);
  const [pending] = raw?.pendingActivities ?? [];
  return (pending?.state === STARTED && pending.lastWorkerIdentity) || undefined;
}

/** The first worker starts it soon after it reports that it is ready. */
function notYet(error: unknown): { raw?: undefined } {
  if (error instanceof WorkflowNotFoundError) return {};
  throw error;
}
