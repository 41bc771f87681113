/** Several worker processes of one world, and payouts that keep them busy. */
import type { WorkflowHandle } from '@temporalio/client';
import { expect } from 'vitest';
import { setFirstSettings } from '../../scripts/first-settings.ts';
import type { PayoutRef } from '../../src/client/payouts.ts';
import type { Environment } from '../../src/config/environment.ts';
import { leaseWorkflowId } from '../../src/contract/ids.ts';
import { eventually } from './eventually.ts';
import { ownerAmong } from './lease-owner.ts';
import { debitsOf } from './ledger.ts';
import { type OwnProcess, startProgram } from './processes.ts';
import type { TestWorld } from './test-world.ts';

export class WorkerProcesses {
  private readonly world: TestWorld;
  private readonly started: OwnProcess[] = [];

  constructor(world: TestWorld) {
    this.world = world;
  }

  async start(change: Environment = {}): Promise<OwnProcess> {
    const environment = { ...this.world.workerEnvironment, ...change };
    await setFirstSettings(this.world.client, environment);
    const worker = await startProgram('src/workers/main.ts', environment, /worker ready/);
    this.started.push(worker);
    return worker;
  }

  owner(): Promise<OwnProcess> {
    return ownerAmong(this.world, this.started);
  }

  /** Waits until a wanted process owns the lease. */
  async ownedBy(wanted: (owner: OwnProcess) => boolean): Promise<OwnProcess> {
    return eventually(async () => {
      const owner = await this.owner();
      return wanted(owner) ? owner : undefined;
    });
  }

  async end(): Promise<void> {
    for (const { child } of this.started) child.kill('SIGCONT');
    await Promise.all(this.started.map((worker) => worker.stop('SIGKILL')));
  }
}

/** The id of the process that has the workflow in memory, from the SDK's worker identity: process id and host. */
export async function workerOf(handle: WorkflowHandle): Promise<number> {
  return eventually(async () => {
    const { events = [] } = await handle.fetchHistory();
    const completed = events?.findLast((event) => event.workflowTaskCompletedEventAttributes);
    if (!completed) return undefined;
    return Number.parseInt(completed.workflowTaskCompletedEventAttributes?.identity ?? '', 10);
  });
}

export function leaseOf(world: TestWorld, appId = 'demo-app') {
  return world.client.workflow.getHandle(leaseWorkflowId('test', appId));
}

/** Starts payouts, and waits until calls are made at the limit. */
export async function payUntilBusy(world: TestWorld, payouts: number, limit: number): Promise<PayoutRef[]> {
  const refs = await Promise.all(Array.from({ length: payouts }, () => world.pay('success final=0s')));
  await untilMoreCalls(world, limit);
  return refs;
}

/** Waits until this many more calls have arrived. */
export async function untilMoreCalls(world: TestWorld, count: number): Promise<void> {
  const before = world.simulator.control.calls().length;
  await eventually(() => world.simulator.control.calls().length >= before + count || undefined);
}

/** A create that died with its process may be sent again once the provider does not know it. That is not a second payment. */
export async function allPaidOnce(world: TestWorld, refs: readonly PayoutRef[]): Promise<void> {
  for (const ref of refs) expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
  for (const ref of refs) expect(debitsOf(world, ref)).toBe(1);
}

export function expectAtMost(world: TestWorld, limit: number): void {
  const { answered429, maxCallsInAnySecond } = world.simulator.control.counts();
  expect(maxCallsInAnySecond).toBeLessThanOrEqual(limit);
  expect(answered429).toBe(0);
}
