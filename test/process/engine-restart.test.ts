import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type DevServer, startDevServer } from '../../scripts/dev-server.ts';
import { type Simulator, startSimulator } from '../../simulator/index.ts';
import { Payouts } from '../../src/starters/payouts.ts';
import { freshNumber, QUICK } from '../support/payout-world.ts';
import { type OwnProcess, startProgram } from '../support/processes.ts';
import { payoutRequest } from '../support/requests.ts';

const KILLS = Number(process.env['ENGINE_KILLS'] ?? 3);

let folder: string;
let engine: DevServer;
let simulator: Simulator;
let worker: OwnProcess;
let connection: Connection;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'payouts-restart-'));
  engine = await startDevServer({ always: true, ui: false, dbFile: join(folder, 'temporal.db') });
  simulator = await startSimulator({ settings: { callsPerSecond: 1_000 } });
  const env = {
    ...QUICK,
    PAYMENTS_BASE_URL: simulator.url,
    PAYMENTS_AUTH_URL: simulator.url,
    TEMPORAL_ADDRESS: engine.address,
  };
  worker = await startProgram('src/workers/main.ts', env, /worker ready/);
  connection = await Connection.connect({ address: engine.address });
});

afterAll(async () => {
  await worker.stop('SIGKILL');
  await connection.close();
  await simulator.close();
  await engine.stop();
  rmSync(folder, { recursive: true, force: true });
});

test(`H41 the engine is killed ${KILLS} times with payouts under way: all end, each is paid once`, async () => {
  const payouts = new Payouts({ client: new Client({ connection }), environment: 'test' });
  const bodies = Array.from({ length: 8 }, () =>
    payoutRequest(freshNumber(), { platform: 'sim:slow final=3s' }),
  );
  for (const body of bodies) await payouts.start(body);
  for (let kill = 0; kill < KILLS; kill += 1) {
    await engine.kill('SIGKILL');
    await engine.restart();
  }
  const ends = await Promise.all(bodies.map((body) => payouts.result(body)));
  expect(ends.map(({ outcome }) => outcome)).toEqual(bodies.map(() => 'SUCCESS'));
  const debits = bodies.map(({ partnerOrderId }) => simulator.control.ledgerOf(partnerOrderId).debits);
  expect(debits).toEqual(bodies.map(() => 1));
});
