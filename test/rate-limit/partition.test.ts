import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { simulatedOwner } from '../support/lease-owner.ts';
import { strictWorld } from '../support/rate-limit.ts';
import { VirtualWorld } from '../support/virtual-world.ts';
import { allPaidOnce, expectAtMost, payUntilBusy } from '../support/workers.ts';

const LIMIT = 20;
const PAYOUTS = 30;
/** Longer than a lease counts without renewals. */
const QUIET_MS = 2_000;

let world: VirtualWorld;
beforeEach(async () => {
  world = await VirtualWorld.start(strictWorld(LIMIT));
  await world.startWorkers();
});
afterEach(() => world.stop());

test('H37 the only lease owner loses Temporal: it stops sending, and resumes when the connection is back', async () => {
  const calls = () => world.simulator.control.calls().length;
  const refs = await payUntilBusy(world, PAYOUTS, LIMIT);
  const owner = await simulatedOwner(world);
  owner.cutOff = true;
  await eventually(async () => {
    const before = calls();
    await world.pass(QUIET_MS);
    return calls() === before || undefined;
  });
  const whileCutOff = calls();
  await world.pass(60_000);
  expect(calls()).toBe(whileCutOff);
  owner.cutOff = false;
  await allPaidOnce(world, refs);
  expectAtMost(world, LIMIT);
});
