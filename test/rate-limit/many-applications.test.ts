/** Many applications share the processes: their leases stay level, and cost little. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { leaseWorkflowId } from '../../src/contract/ids.ts';
import { eventually } from '../support/eventually.ts';
import { appsOf } from '../support/rate-limit.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const APPLICATIONS = 60;
const PROCESSES = 3;
const LEVEL_MS = 120_000;
const MINUTE_MS = 60_000;

let folder: string;
let world: VirtualWorld;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'payouts-apps-'));
  const file = join(folder, 'apps.json');
  const ids = Array.from({ length: APPLICATIONS }, (_, at) => [`app-${at}`, `id-${at}`]);
  writeFileSync(file, JSON.stringify(appsOf(Object.fromEntries(ids))));
  world = await VirtualWorld.start({ idle: true, workers: PROCESSES, env: { PAYOUTS_APPS_FILE: file } });
});
afterAll(async () => {
  await world.stop();
  rmSync(folder, { recursive: true });
});

/** The owner of each lease. A lease in transit has none. */
async function owners(): Promise<(string | undefined)[]> {
  const ids = Array.from({ length: APPLICATIONS }, (_, at) => leaseWorkflowId('test', `id-${at}`));
  return Promise.all(
    ids.map(async (id) => {
      const { raw } = await world.client.workflow.getHandle(id).describe();
      return raw.pendingActivities?.[0]?.lastWorkerIdentity ?? undefined;
    }),
  );
}

async function expectLevel(): Promise<void> {
  const found = await owners();
  const counts = world.system.processes.map(
    ({ life }) => found.filter((owner) => owner === life?.name).length,
  );
  expect(Math.min(...counts)).toBeGreaterThanOrEqual(APPLICATIONS / PROCESSES - 2);
}

test('H370 the leases are level two minutes after a rolling restart', async () => {
  const [first, ...others] = world.system.processes;
  first?.start();
  await world.pass(10_000);
  for (const process of others) process.start();
  await world.pass(LEVEL_MS);
  await expectLevel();
  for (const process of world.system.processes) {
    process.stop();
    await eventually(() => process.life === undefined || undefined);
    process.start();
    await world.pass(2_000);
  }
  await world.pass(LEVEL_MS);
  await expectLevel();
});

test('the processes together make at most 0.11 requests per second for each idle application', async () => {
  await world.pass(5 * MINUTE_MS);
  let requests = 0;
  world.system.service.stub = () => {
    requests += 1;
    return undefined;
  };
  await world.pass(10 * MINUTE_MS);
  world.system.service.stub = undefined;
  // Without the heartbeats of idle leases, which the SDK sends every 22 s.
  expect(requests / (10 * 60 * APPLICATIONS)).toBeLessThanOrEqual(0.11);
});

test('H37 one process takes over all leases within 30 s when the others are killed, and keeps them', async () => {
  const [survivor, ...others] = world.system.processes;
  for (const process of others) process.kill();
  for (const ms of [30_000, 20_000]) {
    await world.pass(ms);
    expect(new Set(await owners())).toEqual(new Set([survivor?.life?.name]));
  }
});
