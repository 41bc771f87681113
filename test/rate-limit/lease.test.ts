import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Context } from '@temporalio/activity';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RateLimits } from '../../src/client/rate-limits.ts';
import { leaseTaskQueue } from '../../src/contract/ids.ts';
import { rateLimitQuery, setCallsPerSecondUpdate } from '../../src/contract/lease-messages.ts';
import type { PayoutState } from '../../src/domain/payout.ts';
import type { ReleasedLease } from '../../src/domain/rate-limit-lease.ts';
import { PROCESS_SURROUNDINGS } from '../../src/surroundings/process.ts';
import { leaseKeeper } from '../../src/workers/rate-limit/keep-lease.ts';
import { eventually } from '../support/eventually.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { strictWorld } from '../support/rate-limit.ts';
import { allPaidOnce, expectAtMost, leaseOf, payUntilBusy, WorkerProcesses } from '../support/workers.ts';

describe('H37 the lease of one application', () => {
  let world: PayoutWorld;
  beforeAll(async () => {
    world = await PayoutWorld.start({
      settings: { callsPerSecond: 60 },
      env: { PAYMENTS_CALLS_PER_SECOND: '5', PAYOUTS_POLL_FIRST: '2s' },
    });
  });
  afterAll(() => world.stop());

  const paid = async (count: number) => {
    const refs = await Promise.all(Array.from({ length: count }, () => world.pay('success final=0s')));
    const ends = await Promise.all(refs.map((ref) => world.payouts.result(ref)));
    expect(ends.map(({ outcome }) => outcome)).toEqual(refs.map(() => 'SUCCESS'));
  };
  const most = () => world.simulator.control.counts().maxCallsInAnySecond;

  test('the rate changes without a restart, and back', async () => {
    await paid(2);
    expect(most()).toBeLessThanOrEqual(5);
    const change = { callsPerSecond: 40, by: 'olga' };
    await leaseOf(world).executeUpdate(setCallsPerSecondUpdate, { args: [change] });
    expect(await leaseOf(world).query(rateLimitQuery)).toMatchObject({
      callsPerSecond: 40,
      changedBy: 'olga',
    });
    await eventually(async () => {
      await paid(6);
      return most() > 5 || undefined;
    });
    expectAtMost(world, 40);
    const back = { callsPerSecond: null, by: 'olga' };
    await leaseOf(world).executeUpdate(setCallsPerSecondUpdate, { args: [back] });
    expect((await leaseOf(world).query(rateLimitQuery)).callsPerSecond).toBeNull();
  });

  test.each([0, 1.5, 10_001, '20'])('rejects a rate of %j', async (callsPerSecond) => {
    const handle = leaseOf(world);
    const update = handle.executeUpdate('setCallsPerSecond', { args: [{ callsPerSecond, by: 'olga' }] });
    await expect(update).rejects.toThrow();
  });

  test('a terminated lease is started again', async () => {
    await paid(1);
    await leaseOf(world).terminate('by mistake');
    await paid(1);
  });

  test('an invalid signal has no effect', async () => {
    for (const nonsense of [undefined, 7, 'NOT A NAME', { app: 'default' }])
      await leaseOf(world).signal('appRenamed', nonsense);
    await paid(1);
    expect((await new RateLimits(world.client, 'test').state('default')).app).toBe('default');
  });

  test('it continues as new after many terms, and is still found by name', async () => {
    const place = { environment: 'test', appId: 'app-of-many-terms' };
    let terms = 0;
    const held = await Worker.create({
      connection: world.native,
      namespace: world.namespace,
      taskQueue: leaseTaskQueue(place.environment, place.appId),
      activities: {
        holdLease: async (): Promise<ReleasedLease> => {
          terms += 1;
          if (terms === 32) await Context.current().cancelled;
          return { runId: '', sendAgesMs: [], unprovenForMs: [], marginMs: 15, unreachedTerms: 0 };
        },
      },
    });
    await held.runUntil(async () => {
      const lease = leaseOf(world, place.appId);
      const keeper = leaseKeeper(world.client, place, 'many-terms', PROCESS_SURROUNDINGS.clock);
      keeper.check();
      const firstRun = await eventually(() => lease.describe().then(runIdOf, () => undefined));
      await eventually(async () => (await lease.describe()).runId !== firstRun || undefined);
      keeper.stop();
      const rateLimits = new RateLimits(world.client, 'test');
      const found = await eventually(() => rateLimits.state('many-terms').catch(() => undefined));
      expect(found).toMatchObject({ app: 'many-terms', callsPerSecond: null });
      await lease.terminate('end of the test');
    });
  });
});

describe('H59 one app_id under two names', () => {
  const LIMIT = 10;
  let world: PayoutWorld;
  let workers: WorkerProcesses;
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'payouts-apps-'));
    world = await PayoutWorld.start(strictWorld(LIMIT));
    workers = new WorkerProcesses(world);
  });
  afterAll(async () => {
    await workers.end();
    await world.stop();
    rmSync(folder, { recursive: true });
  });

  async function attemptOfLease(): Promise<number | undefined> {
    const { raw } = await leaseOf(world).describe();
    return raw.pendingActivities?.[0]?.attempt ?? undefined;
  }

  test('H59 a process with the new name waits for one with the old name, and then serves: one rate limit', async () => {
    const file = join(folder, 'renamed.json');
    const renamed = { appId: 'demo-app', appSecret: 'env:PAYMENTS_APP_SECRET' };
    writeFileSync(file, JSON.stringify({ renamed }));
    const old = await workers.start();
    const refs = await payUntilBusy(world, 12, LIMIT);
    // A worker that does not know the name rejects a payout at its start, so all of them have started.
    // One that has ended by now has no `lastAskedAt`.
    const hasStarted = ({ lastAskedAt, phase }: PayoutState) => lastAskedAt !== undefined || phase === 'DONE';
    for (const ref of refs) await world.until(ref, hasStarted);
    const fresh = await workers.start({ PAYOUTS_APPS_FILE: file });
    await allPaidOnce(world, refs);
    const leases = async () => (await world.client.workflow.count("WorkflowType = 'rateLimitLease'")).count;
    expect(await leases()).toBe(1);
    // No process takes the lease from its owner. It expires only if the machine is too busy for the owner to renew it.
    if ((await attemptOfLease()) === 1) expect(await workers.owner()).toBe(old);
    expect(await old.stop('SIGTERM')).toBe(0);
    await workers.ownedBy((owner) => owner === fresh);
    const renamedRefs = await Promise.all(
      Array.from({ length: 6 }, async () => ({
        app: 'renamed',
        ...(await world.pay('success final=0s', { app: 'renamed' })),
      })),
    );
    await allPaidOnce(world, renamedRefs);
    expectAtMost(world, LIMIT);
    expect(await leases()).toBe(1);
    // It is listed under the name that its owner uses.
    const rateLimits = new RateLimits(world.client, 'test');
    const found = await eventually(() => rateLimits.state('renamed').catch(() => undefined));
    expect(Number.parseInt(found.owner ?? '', 10)).toBe(fresh.child.pid);
    await expect(rateLimits.state('default')).rejects.toThrow();
  });
});

describe('H37 the leases of several applications', () => {
  let world: PayoutWorld;
  let folder: string;
  let workers: WorkerProcesses;
  // An app_id may contain characters with a meaning in a workflow id, a queue name, a query or a URL.
  const appIds = { east: 'app:1', north: "it's/2%3A", west: '../west?x=1#"' };
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'payouts-apps-'));
    const file = join(folder, 'apps.json');
    const entries = Object.entries(appIds).map(([app, appId]) => [
      app,
      { appId, appSecret: 'env:PAYMENTS_APP_SECRET' },
    ]);
    writeFileSync(file, JSON.stringify(Object.fromEntries(entries)));
    world = await PayoutWorld.start({ idle: true, env: { PAYOUTS_APPS_FILE: file } });
    workers = new WorkerProcesses(world);
  });
  afterAll(async () => {
    await workers.end();
    await world.stop();
    rmSync(folder, { recursive: true });
  });

  test('are spread over the processes, including the first one', async () => {
    await workers.start();
    await workers.start();
    const rateLimits = new RateLimits(world.client, 'test');
    const ownerOf = async (app: string) => (await rateLimits.state(app)).owner;
    const owners = await eventually(async () => {
      const found = await Promise.all(Object.keys(appIds).map((app) => ownerOf(app).catch(() => null)));
      // A lease in transit has no owner.
      return found.every((owner) => owner !== null) && new Set(found).size === 2 ? found : undefined;
    });
    expect(new Set(owners).size).toBe(2);
  });
});

function runIdOf({ runId }: { runId: string }): string {
  return runId;
}
