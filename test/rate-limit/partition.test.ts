import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, test } from 'vitest';
import { type Cuttable, cuttable } from '../support/cuttable.ts';
import { eventually } from '../support/eventually.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import type { OwnProcess } from '../support/processes.ts';
import { strictWorld } from '../support/rate-limit.ts';
import {
  allPaidOnce,
  expectAtMost,
  payUntilBusy,
  untilMoreCalls,
  WorkerProcesses,
} from '../support/workers.ts';

const LIMIT = 20;
const PAYOUTS = 30;
/** Longer than a lease counts without renewals. */
const QUIET_MS = 2_000;

describe('H37 the lease owner loses Temporal, but not the provider', () => {
  let world: PayoutWorld;
  let workers: WorkerProcesses;
  let ways: Map<OwnProcess, Cuttable>;

  beforeEach(async () => {
    world = await PayoutWorld.start(strictWorld(LIMIT));
    workers = new WorkerProcesses(world);
    ways = new Map();
  });
  afterEach(async () => {
    await workers.end();
    for (const way of ways.values()) way.close();
    await world.stop();
  });

  async function startWorker(): Promise<void> {
    const way = await cuttable(world.address);
    ways.set(await workers.start({ TEMPORAL_ADDRESS: way.address }), way);
  }

  const calls = () => world.simulator.control.calls().length;

  async function untilQuiet(): Promise<void> {
    await eventually(async () => {
      const before = calls();
      await sleep(QUIET_MS);
      return calls() === before || undefined;
    });
  }

  test('it stops sending, and resumes when the connection is back', async () => {
    await startWorker();
    const refs = await payUntilBusy(world, PAYOUTS, LIMIT);
    const way = ways.get(await workers.owner());
    way?.cut();
    await untilQuiet();
    way?.mend();
    await allPaidOnce(world, refs);
    expectAtMost(world, LIMIT);
  });

  test('another process takes over, and both together stay within the limit', async () => {
    await startWorker();
    await startWorker();
    const refs = await payUntilBusy(world, PAYOUTS, LIMIT);
    const cutOff = await workers.owner();
    ways.get(cutOff)?.cut();
    await workers.ownedBy((owner) => owner !== cutOff);
    await untilMoreCalls(world, LIMIT);
    ways.get(cutOff)?.mend();
    await allPaidOnce(world, refs);
    expectAtMost(world, LIMIT);
  });
});
