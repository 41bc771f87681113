import { afterEach, beforeEach, expect, test } from 'vitest';
import { tokenWorkflowId } from '../../src/contract/ids.ts';
import { authorizedSignal } from '../../src/contract/workflows.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { TokenRenewals } from '../../src/workers/tokens/token-renewals.ts';
import { eventually } from '../support/eventually.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import type { OwnProcess } from '../support/processes.ts';
import { WorkerProcesses, workerOf } from '../support/workers.ts';

/** `PENDING_WORKFLOW_TASK_STATE_STARTED` */
const STARTED = 2;
const OWNER = { environment: 'test', app: 'default' };

let world: PayoutWorld;
let workers: WorkerProcesses;
beforeEach(async () => {
  world = await PayoutWorld.start({ idle: true });
  workers = new WorkerProcesses(world);
});
afterEach(async () => {
  await workers.end();
  await world.stop();
});

const renewal = () => world.client.workflow.getHandle(tokenWorkflowId('default'));
/** Rejects without an answer within 10 s, which is how long a call waits for its token. */
const grant = () => new TokenRenewals(world.client, PROCESS_RUNTIME).grant(OWNER);

/** Starts two workers. Returns the one that has the renewal in memory. */
async function holder(): Promise<OwnProcess> {
  const first = await workers.start();
  await eventually(() => grant().catch(() => undefined));
  const second = await workers.start();
  const pid = await workerOf(renewal());
  return second.child.pid === pid ? second : first;
}

test('H44 a worker that dies during a renewal blocks the token for no other worker', async () => {
  const worker = await holder();
  // Frozen, it gets the next workflow task, because it has the renewal in memory.
  worker.child.kill('SIGSTOP');
  await renewal().signal(authorizedSignal.name, 'nothing that it understands');
  await eventually(async () => {
    const { raw } = await renewal().describe();
    return raw.pendingWorkflowTask?.state === STARTED || undefined;
  });
  await worker.stop('SIGKILL');
  expect((await grant()).expiresAtMs).toBeGreaterThan(0);
});
