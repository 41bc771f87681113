import { afterEach, beforeEach, expect, test } from 'vitest';
import { tokenWorkflowId } from '../../src/domain/identity.ts';
import { TokenRenewals } from '../../src/workers/tokens/token-renewals.ts';
import { eventually, PayoutWorld } from '../support/payout-world.ts';
import { type OwnProcess, startProgram } from '../support/processes.ts';

let world: PayoutWorld;
const workers: OwnProcess[] = [];
beforeEach(async () => {
  world = await PayoutWorld.start({ idle: true });
});
afterEach(async () => {
  for (const worker of workers) await worker.stop('SIGKILL');
  await world.stop();
});

const start = async () => {
  const worker = await startProgram('src/workers/main.ts', world.workerEnvironment, /worker ready/);
  workers.push(worker);
  return worker;
};

test('experiment', { timeout: 60_000 }, async () => {
  const first = await start();
  const renewals = new TokenRenewals(world.client);
  const owner = { environment: 'test', app: 'default' };
  await eventually(() => renewals.current(owner).catch(() => undefined));
  await start();
  for (let i = 0; i < 3; i += 1) {
    const t = performance.now();
    await renewals.current(owner);
    console.log('alive', performance.now() - t);
  }
  await first.stop('SIGKILL');
  const t = performance.now();
  const kinds = await Promise.allSettled([renewals.current(owner)]);
  console.log('dead', performance.now() - t, kinds[0]?.status === 'rejected' ? String(kinds[0].reason) : 'ok');
  expect(tokenWorkflowId('default')).toBeDefined();
});
