import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RENEWAL_COUNTS_MS } from '../../src/domain/rate-limit-lease.ts';
import type { PayoutRef } from '../../src/starters/payouts.ts';
import { strictWorld } from '../support/budget.ts';
import { type Cuttable, cuttable } from '../support/cuttable.ts';
import { ownerAmong } from '../support/lease-owner.ts';
import { debitsOf } from '../support/ledger.ts';
import { eventually, PayoutWorld } from '../support/payout-world.ts';
import { type OwnProcess, startProgram } from '../support/processes.ts';

const LIMIT = 20;
const PAYOUTS = 30;

describe('H37 the owner of the call budget is cut off from Temporal, but not from the service', () => {
  let world: PayoutWorld;
  let workers: { process: OwnProcess; way: Cuttable }[];

  beforeEach(async () => {
    world = await PayoutWorld.start(strictWorld(LIMIT));
    workers = [];
  });
  afterEach(async () => {
    await Promise.all(workers.map(({ process }) => process.stop('SIGKILL')));
    for (const { way } of workers) way.close();
    await world.stop();
  });

  async function startWorkers(count: number): Promise<void> {
    for (let at = 0; at < count; at += 1) {
      const way = await cuttable(world.address);
      const environment = { ...world.workerEnvironment, TEMPORAL_ADDRESS: way.address };
      workers.push({ way, process: await startProgram('src/workers/main.ts', environment, /worker ready/) });
    }
  }

  const calls = () => world.simulator.control.calls();

  async function busy(): Promise<PayoutRef[]> {
    const refs = await Promise.all(Array.from({ length: PAYOUTS }, () => world.pay('success final=0s')));
    await eventually(() => calls().length > LIMIT || undefined);
    return refs;
  }

  async function allPaidOnceWithinTheLimit(refs: readonly PayoutRef[]): Promise<void> {
    for (const ref of refs) expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
    for (const ref of refs) expect(debitsOf(world, ref)).toBe(1);
    const { answered429, maxCallsInAnySecond } = world.simulator.control.counts();
    expect(answered429).toBe(0);
    expect(maxCallsInAnySecond).toBeLessThanOrEqual(LIMIT);
  }

  test('it falls silent when its lease ends, and goes on when the way is mended', async () => {
    await startWorkers(1);
    const refs = await busy();
    workers[0]?.way.cut();
    // At most the call that was being written as the lease ended is still on its way to the service.
    await sleep(RENEWAL_COUNTS_MS + 500);
    const sent = calls().length;
    expect(sent).toBeLessThan(3 * PAYOUTS);
    await sleep(2_000);
    expect(calls().length).toBe(sent);
    workers[0]?.way.mend();
    await allPaidOnceWithinTheLimit(refs);
  });

  test('another takes over, and the two together stay within the limit', async () => {
    await startWorkers(2);
    const refs = await busy();
    const owner = await ownerAmong(
      world,
      workers.map(({ process }) => process),
    );
    const cutOff = workers.find(({ process }) => process === owner);
    cutOff?.way.cut();
    await eventually(async () => {
      const now = await ownerAmong(
        world,
        workers.map(({ process }) => process),
      );
      return now === owner ? undefined : true;
    });
    const before = calls().length;
    await eventually(() => calls().length > before + LIMIT || undefined);
    cutOff?.way.mend();
    await allPaidOnceWithinTheLimit(refs);
  });
});
