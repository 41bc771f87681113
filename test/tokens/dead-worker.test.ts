import { afterEach, beforeEach, expect, test } from 'vitest';
import { tokenWorkflowId } from '../../src/domain/identity.ts';
import { TokenRenewals } from '../../src/workers/tokens/token-renewals.ts';
import { authorizedSignal } from '../../src/workflows/token-messages.ts';
import { eventually, PayoutWorld } from '../support/payout-world.ts';
import { type OwnProcess, startProgram } from '../support/processes.ts';

/** `PENDING_WORKFLOW_TASK_STATE_STARTED` */
const STARTED = 2;
const OWNER = { environment: 'test', app: 'default' };

let world: PayoutWorld;
const workers: OwnProcess[] = [];
beforeEach(async () => {
  world = await PayoutWorld.start({ idle: true });
});
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.stop('SIGKILL');
  await world.stop();
});

async function startWorker(): Promise<OwnProcess> {
  const worker = await startProgram('src/workers/main.ts', world.workerEnvironment, /worker ready/);
  workers.push(worker);
  return worker;
}

test('H44 a worker that dies with the renewal in hand keeps the token from nobody', async () => {
  const first = await startWorker();
  const renewals = new TokenRenewals(world.client);
  await eventually(() => renewals.grant(OWNER).catch(() => undefined));
  await startWorker();
  // Frozen, it takes the next workflow task, for it is the worker that has the renewal in memory.
  first.child.kill('SIGSTOP');
  const renewal = world.client.workflow.getHandle(tokenWorkflowId('default'));
  await renewal.signal(authorizedSignal.name, 'nothing that it understands');
  await eventually(async () => {
    const { raw } = await renewal.describe();
    return raw.pendingWorkflowTask?.state === STARTED || undefined;
  });
  await first.stop('SIGKILL');
  // It rejects when there is no answer within 10 s.
  expect((await renewals.grant(OWNER)).expiresAtMs).toBeGreaterThan(0);
});
