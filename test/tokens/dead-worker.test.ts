import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { TokenRenewals } from '../../src/workers/tokens/token-renewals.ts';
import { eventually, PayoutWorld } from '../support/payout-world.ts';
import { type OwnProcess, startProgram } from '../support/processes.ts';

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

test('H44 a worker that dies with the question for a token in hand keeps the token from nobody', async () => {
  const first = await startWorker();
  const renewals = new TokenRenewals(world.client);
  await eventually(() => renewals.grant(OWNER).catch(() => undefined));
  await startWorker();
  // Frozen, it takes the question as the worker that has the renewal in memory, and never answers.
  first.child.kill('SIGSTOP');
  const asked = renewals.grant(OWNER);
  await sleep(500);
  await first.stop('SIGKILL');
  // It rejects when Temporal does not answer within 10 s.
  expect((await asked).expiresAtMs).toBeGreaterThan(0);
});
