import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { leaseWorkflowId } from '../../src/domain/identity.ts';
import type { PayoutRef } from '../../src/starters/payouts.ts';
import { strictWorld } from '../support/budget.ts';
import { ownerAmong } from '../support/lease-owner.ts';
import { debitsOf } from '../support/ledger.ts';
import { eventually, PayoutWorld } from '../support/payout-world.ts';
import { type OwnProcess, startProgram } from '../support/processes.ts';

const LIMIT = 20;
/** Enough to keep the budget busy for a good while: each payout is at least three calls before its order is final. */
const PAYOUTS = 40;
const FROZEN_MS = 10_000;

describe('H37 the call budget moves from process to process', () => {
  let world: PayoutWorld;
  let workers: OwnProcess[];

  beforeEach(async () => {
    world = await PayoutWorld.start(strictWorld(LIMIT));
    // The first one owns the budget, and Temporal keeps the lease's own workflow for it too.
    workers = [await startWorker()];
    await ownerAmong(world, workers);
    workers.push(...(await Promise.all([startWorker(), startWorker()])));
  });
  afterEach(async () => {
    for (const { child } of workers) child.kill('SIGCONT');
    await Promise.all(workers.map((worker) => worker.stop('SIGKILL')));
    await world.stop();
  });

  const startWorker = () => startProgram('src/workers/main.ts', world.workerEnvironment, /worker ready/);
  const calls = () => world.simulator.control.calls();
  const counts = () => world.simulator.control.counts();

  async function busy(): Promise<PayoutRef[]> {
    const refs = await Promise.all(Array.from({ length: PAYOUTS }, () => world.pay('success final=0s')));
    await eventually(() => calls().length > LIMIT || undefined);
    return refs;
  }

  /** The longest silence around a moment: from the last call before it to the first one after it. */
  function silenceAround(atMs: number): number {
    const times = calls().map((call) => call.atMs);
    const before = Math.max(...times.filter((time) => time <= atMs));
    const after = times.filter((time) => time > atMs);
    const gaps = after.map((time, index) => time - (after[index - 1] ?? before));
    return Math.max(...gaps.slice(0, 2 * LIMIT));
  }

  async function allPaidOnce(refs: PayoutRef[]): Promise<void> {
    await Promise.all(
      refs.map(async (ref) => {
        expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
      }),
    );
    // A create that died with its process may be sent again once the service does not know it: that is no second payment.
    for (const ref of refs) expect(debitsOf(world, ref)).toBe(1);
  }

  function report(name: string, gap: number): void {
    const { answered429, maxCallsInAnySecond } = counts();
    console.log(JSON.stringify({ name, gap: Math.round(gap), answered429, maxCallsInAnySecond }));
    expect(answered429).toBe(0);
    expect(maxCallsInAnySecond).toBeLessThanOrEqual(LIMIT);
  }

  test('H37 the owner is killed with -9: the next one serves, and no second holds more than the limit', async () => {
    const refs = await busy();
    const killed = await ownerAmong(world, workers);
    const at = performance.now();
    await killed.stop('SIGKILL');
    await eventually(() => calls().some(({ atMs }) => atMs > at + 500) || undefined);
    await eventually(() => calls().length > 4 * LIMIT || undefined);
    await allPaidOnce(refs);
    const gap = silenceAround(at);
    report('killed', gap);
    expect(gap).toBeLessThan(15_000);
  });

  test('H37 the owner is asked to stop: the next one goes on where it left off', async () => {
    const refs = await busy();
    const stopping = await ownerAmong(world, workers);
    const at = performance.now();
    expect(await stopping.stop('SIGTERM')).toBe(0);
    await allPaidOnce(refs);
    const gap = silenceAround(at);
    report('stopped', gap);
    // It gave the lease back, and nobody had to wait for its end, or for its part of the lease's workflow.
    const { events } = await world.client.workflow
      .getHandle(leaseWorkflowId('test', 'default'))
      .fetchHistory();
    expect(events?.some((event) => event.activityTaskCompletedEventAttributes)).toBe(true);
    expect(events?.some((event) => event.workflowTaskTimedOutEventAttributes)).toBe(false);
  });

  test('H37 H102 the owner is frozen for 10 s and thaws: it sends nothing that counts, and nothing is lost', async () => {
    const refs = await busy();
    const frozen = await ownerAmong(world, workers);
    const at = performance.now();
    frozen.child.kill('SIGSTOP');
    await sleep(FROZEN_MS);
    frozen.child.kill('SIGCONT');
    await allPaidOnce(refs);
    const gap = silenceAround(at);
    report('frozen', gap);
    // Others served before it thawed.
    expect(gap).toBeLessThan(FROZEN_MS);
  });
});
