import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { expect, test } from 'vitest';
import { latestSettings } from '../../src/client/lease-settings.ts';
import { Leases, Pauses } from '../../src/client/leases.ts';
import { SharedSettingsOf } from '../../src/client/shared-settings.ts';
import { eventually } from '../support/eventually.ts';
import { newKey } from '../support/keys.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { appsOf, STRANGE_APP_IDS } from '../support/rate-limit.ts';
import { resetBefore } from '../support/resets.ts';
import { leaseOf } from '../support/workers.ts';

test('H37 the real server accepts every app_id in the names of a lease', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'payouts-apps-'));
  const file = join(folder, 'apps.json');
  writeFileSync(file, JSON.stringify(appsOf(STRANGE_APP_IDS)));
  const world = await PayoutWorld.start({ env: { PAYOUTS_APPS_FILE: file } });
  try {
    const rateLimits = new Leases(world.client, 'test');
    for (const app of Object.keys(STRANGE_APP_IDS)) {
      const state = () => rateLimits.rateLimit(app).catch(() => undefined);
      const owner = await eventually(async () => (await state())?.owner ?? undefined);
      expect(owner).toContain('@');
    }
  } finally {
    await world.stop();
    rmSync(folder, { recursive: true });
  }
});

/** Once a process owns the lease. */
async function ownedLease({ client }: PayoutWorld) {
  const leases = new Leases(client, 'test');
  const owner = async () => (await leases.rateLimit('default').catch(() => undefined))?.owner;
  await eventually(async () => (await owner()) ?? undefined);
  return { leases, pauses: new Pauses({ client, environment: 'test' }) };
}

/** Runs `work` where the lease has a rate and a pause, and no worker has run its reset to before both. */
async function afterReset(
  work: (world: PayoutWorld, parts: Awaited<ReturnType<typeof ownedLease>>) => Promise<void>,
): Promise<void> {
  const world = await PayoutWorld.start();
  try {
    const parts = await ownedLease(world);
    await parts.leases.setCallsPerSecond('default', 7, 'olga');
    await parts.pauses.pause('default', { by: 'olga', reason: 'a leaked key' });
    await world.stopWorkers();
    await resetBefore(world, leaseOf(world), 'holdLease');
    await work(world, parts);
  } finally {
    await world.stop();
  }
}

test('H371 the settings change after a reset that no worker has run: its pause and its rate stay', () =>
  afterReset(async (world, { leases, pauses }) => {
    expect((await pauses.state('default')).paused).toMatchObject({ by: 'olga' });
    const change = { by: 'boris', reason: 'a new policy', approvals: { above: {}, callers: {} } };
    await new SharedSettingsOf(world.client, 'test').change(change);
    const { settings } = await leases.of('default');
    expect(settings).toMatchObject({
      callsPerSecond: 7,
      changedBy: 'olga',
      paused: { by: 'olga', reason: 'a leaked key' },
    });
  }));

test('H371 a lease is terminated after such a reset: the worker that starts it again keeps the pause', () =>
  afterReset(async (world, { pauses }) => {
    await leaseOf(world).terminate('by mistake');
    await world.startWorkers();
    await ownedLease(world);
    expect((await pauses.state('default')).paused).toMatchObject({ by: 'olga' });
  }));

test('H371 a worker runs the reset between the two reads of a lease: it is described again', () =>
  afterReset(async (world) => {
    const before = await leaseOf(world).describe();
    await world.startWorkers();
    await ownedLease(world);
    expect((await latestSettings(world.client, before)).paused).toMatchObject({ by: 'olga' });
  }));

test('H371 many signals follow, or the updates are from before the keys: the pause stays', () =>
  afterReset(async (world) => {
    const reasonFor = async (client: Client) =>
      (await new Pauses({ client, environment: 'test' }).state('default')).paused?.reason;
    const signals = Array.from({ length: 300 }, () => leaseOf(world).signal('appRenamed', 'default'));
    await Promise.all(signals);
    expect(await reasonFor(world.client)).toBe('a leaked key');
    expect(await reasonFor(world.speaking(newKey('k1')))).toContain('Workflow Reset');
  }));

test('H373 the app_id of an application changes: no worker starts, and no settings are set', async () => {
  const world = await PayoutWorld.start({ approvals: null });
  try {
    await ownedLease(world);
    await world.stopWorkers();
    const message = 'the application default has another app_id (rate-limit:test:demo-app)';
    const start = () => world.startWorkers({ PAYMENTS_APP_ID: 'next-app' });
    await expect(start()).rejects.toThrow(message);
    const approvals = { above: {}, callers: {} };
    const change = { by: 'boris', reason: 'a new app_id', approvals, recoveredAt: null };
    const shared = new SharedSettingsOf(world.client, 'test');
    await expect(shared.changeOne('default', 'next-app', change)).rejects.toThrow(message);
    await leaseOf(world).terminate('by mistake');
    await expect(start()).rejects.toThrow(message);
  } finally {
    await world.stop();
  }
});
