import { afterEach, beforeEach, expect, test } from 'vitest';
import { RENEWAL_VALID_MS } from '../../src/domain/rate-limit.ts';
import { simulatedOwner } from '../support/lease-owner.ts';
import { strictWorld } from '../support/rate-limit.ts';
import { VirtualWorld } from '../support/virtual-world.ts';
import { allPaidOnce, expectAtMost, payUntilBusy } from '../support/workers.ts';

const LIMIT = 20;
const PAYOUTS = 30;
/** A call that was written before the lease expired. */
const IN_FLIGHT_MS = 20;

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
  // Calls wait for their turn in the process.
  await world.pass(RENEWAL_VALID_MS + IN_FLIGHT_MS);
  const whileCutOff = calls();
  await world.pass(60_000);
  expect(calls()).toBe(whileCutOff);
  owner.cutOff = false;
  await allPaidOnce(world, refs);
  expectAtMost(world, LIMIT);
});
