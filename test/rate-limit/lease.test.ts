import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { leaseWorkflowId } from '../../src/domain/identity.ts';
import { budgetQuery, setCallsPerSecondUpdate } from '../../src/workflows/lease-messages.ts';
import { BUSY_MACHINE } from '../support/budget.ts';
import { eventually, PayoutWorld } from '../support/payout-world.ts';
import { type OwnProcess, startProgram } from '../support/processes.ts';

/** `PENDING_ACTIVITY_STATE_STARTED` */
const STARTED = 2;

function leaseOf(world: PayoutWorld, app = 'default') {
  return world.client.workflow.getHandle(leaseWorkflowId('test', app));
}

async function ownerOf(world: PayoutWorld, app: string): Promise<string | undefined> {
  const { raw } = await leaseOf(world, app).describe();
  const [held] = raw.pendingActivities ?? [];
  return held?.state === STARTED ? (held.lastWorkerIdentity ?? undefined) : undefined;
}

describe('H37 the lease of one application', () => {
  let world: PayoutWorld;
  beforeAll(async () => {
    world = await PayoutWorld.start({
      settings: { callsPerSecond: 60 },
      env: { ...BUSY_MACHINE, PAYMENTS_CALLS_PER_SECOND: '5', PAYOUTS_POLL_FIRST: '2s' },
    });
  });
  afterAll(() => world.stop());

  const paid = async (count: number) => {
    const refs = await Promise.all(Array.from({ length: count }, () => world.pay('success final=0s')));
    const ends = await Promise.all(refs.map((ref) => world.payouts.result(ref)));
    expect(ends.map(({ outcome }) => outcome)).toEqual(refs.map(() => 'SUCCESS'));
  };

  test('the rate changes without a restart, and back', async () => {
    await paid(2);
    expect(world.simulator.control.counts().maxCallsInAnySecond).toBeLessThanOrEqual(5);
    const change = { callsPerSecond: 40, by: 'olga' };
    await leaseOf(world).executeUpdate(setCallsPerSecondUpdate, { args: [change] });
    expect(await leaseOf(world).query(budgetQuery)).toEqual({ callsPerSecond: 40, changedBy: 'olga' });
    await paid(12);
    const { answered429, maxCallsInAnySecond } = world.simulator.control.counts();
    expect(answered429).toBe(0);
    expect(maxCallsInAnySecond).toBeGreaterThan(5);
    expect(maxCallsInAnySecond).toBeLessThanOrEqual(40);
    const back = { callsPerSecond: null, by: 'olga' };
    await leaseOf(world).executeUpdate(setCallsPerSecondUpdate, { args: [back] });
    expect((await leaseOf(world).query(budgetQuery)).callsPerSecond).toBeNull();
  });

  test.each([0, 1.5, 10_001, '20'])('a rate of %j is refused', async (callsPerSecond) => {
    const handle = leaseOf(world);
    const update = handle.executeUpdate('setCallsPerSecond', { args: [{ callsPerSecond, by: 'olga' }] });
    await expect(update).rejects.toThrow();
  });

  test('a lease that was terminated is taken up again', async () => {
    await paid(1);
    await leaseOf(world).terminate('by mistake');
    await paid(1);
  });
});

describe('H37 the leases of several applications', () => {
  let world: PayoutWorld;
  let folder: string;
  const workers: OwnProcess[] = [];
  const apps = ['east', 'north', 'west'];
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'payouts-apps-'));
    const file = join(folder, 'apps.json');
    const entries = apps.map((app) => [app, { appId: app, appSecret: 'env:PAYMENTS_APP_SECRET' }]);
    writeFileSync(file, JSON.stringify(Object.fromEntries(entries)));
    world = await PayoutWorld.start({ idle: true, env: { PAYOUTS_APPS_FILE: file } });
  });
  afterAll(async () => {
    await Promise.all(workers.map((worker) => worker.stop('SIGKILL')));
    await world.stop();
    rmSync(folder, { recursive: true });
  });

  test('spread over the processes, the one that came first included', async () => {
    for (let count = 0; count < 2; count += 1)
      workers.push(await startProgram('src/workers/main.ts', world.workerEnvironment, /worker ready/));
    const owners = await eventually(async () => {
      const found = await Promise.all(apps.map((app) => ownerOf(world, app).catch(() => undefined)));
      // One that is on its way has no owner just then.
      return found.every((owner) => owner !== undefined) && new Set(found).size === 2 ? found : undefined;
    });
    expect(new Set(owners).size).toBe(2);
  });
});
