import { beforeAll, expect, inject, test } from 'vitest';
import { RENEWAL_VALID_MS } from '../../src/domain/rate-limit.ts';
import { LeaseOwners } from '../../worlds/payouts/lease-owners.ts';
import { fastTrip, PayoutWorld, refOf } from '../../worlds/payouts/payout-world.ts';
import { planOf } from '../../worlds/payouts/plan.ts';
import { Scene } from '../../worlds/payouts/scene.ts';
import type { Process } from '../../worlds/process/life.ts';
import { loadWorkflows, type Workflows } from '../../worlds/sdk.ts';

const HOUR = 3_600_000;
let workflows: Workflows;
beforeAll(async () => {
  workflows = await loadWorkflows(inject('workflowBundle'));
});

/** A world with two workers. The next call connects for `connectMs` while its process is cut off from Temporal. */
function worldWithSlowCall(connectMs: number) {
  const slow: Process[] = [];
  let isNext = false;
  const system = new PayoutWorld({
    ...{ workflows, seed: 1, workers: 2, env: { PAYMENTS_CALL_TIMEOUT: '20s' } },
    trip: (world, process) => {
      if (!isNext) return fastTrip(world);
      isNext = false;
      slow.push(process);
      process.cutOff = true;
      return { ...fastTrip(world), connectMs };
    },
  });
  new LeaseOwners(new Scene({ ...planOf(1), payouts: [] }, system)).begin();
  return {
    ...{ system, world: system.world, slow },
    slowDown: () => {
      isNext = true;
    },
  };
}

test('a call that connects while the lease moves to another process is not written', async () => {
  const { system, world, slow, slowDown } = worldWithSlowCall(8_000);
  await world.finish(system.start(1));
  await world.finish(system.payouts.result(refOf(1)));
  const writes: string[] = [];
  slowDown();
  await world.finish(system.start(2));
  await world.finish(system.start(3));
  await world.run({ done: () => slow.length > 0, withinMs: 20_000 });
  // Other calls may be written while the lease counts.
  await world.run({ withinMs: RENEWAL_VALID_MS });
  system.onWrite.push((process) => writes.push(process));
  await world.run({ withinMs: 20_000 });
  const [owner] = slow;
  if (!owner) throw new Error('no call was slow');
  expect(writes.length).toBeGreaterThan(0);
  expect(writes).not.toContain(owner.name);
  expect(world.violations).toEqual([]);
  await system.end();
});

test('a write by another process than the owner that has sent is a violation', async () => {
  const { system, world } = worldWithSlowCall(0);
  await world.finish(system.start(1));
  let owner = '';
  system.onWrite.push((process) => {
    owner = process;
  });
  await world.run({ done: () => owner !== '', withinMs: HOUR });
  const writer = owner;
  for (const listener of system.onWrite) listener('another');
  expect(world.violations).toEqual([
    `another sends a call although ${writer} owns the rate-limit lease and has sent`,
  ]);
  await system.end();
});
