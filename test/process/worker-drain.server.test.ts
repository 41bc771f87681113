/** How a worker process ends: readiness, calls in flight, the rate-limit lease, a second signal and the deadline. */
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { freePorts, loopback } from '../../scripts/dev-server/ports.ts';
import type { Environment } from '../../src/config/environment.ts';
import { eventually } from '../support/eventually.ts';
import { get } from '../support/http.ts';
import { createsOf } from '../support/ledger.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { type OwnProcess, startProgram } from '../support/processes.ts';

let world: PayoutWorld;
let workers: OwnProcess[] = [];
let url: string;

beforeAll(async () => {
  world = await PayoutWorld.start({
    idle: true,
    env: { PAYMENTS_CALL_TIMEOUT: '5m', PAYMENTS_LOCK_LIFETIME: '1h' },
  });
});
afterEach(async () => {
  for (const worker of workers) await worker.stop('SIGKILL');
  workers = [];
});
afterAll(() => world.stop());

async function start(env: Environment): Promise<OwnProcess> {
  const worker = await startProgram(
    'src/workers/main.ts',
    { ...world.workerEnvironment, ...env },
    /worker ready/,
  );
  workers.push(worker);
  return worker;
}

/** With the health endpoint. */
async function startWatched(drain: string): Promise<OwnProcess> {
  const listen = loopback((await freePorts(1))[0]);
  url = `http://${listen}`;
  return start({ PAYOUTS_DRAIN: drain, PAYOUTS_HEALTH_LISTEN: listen });
}

const statusOf = async (path: string) => (await get(`${url}${path}`)).status;

test('SIGTERM: readiness falls, another worker takes the lease, the call in flight finishes, exit code 0', async () => {
  const ending = await startWatched('1h');
  await eventually(async () => (await statusOf('/readyz')) === 200 || undefined);
  const { ref, release } = await world.payHeld('before', 'success');
  await start({});
  const exited = once(ending.child, 'exit');
  ending.child.kill('SIGTERM');
  await eventually(async () => (await statusOf('/readyz')) === 503 || undefined);
  expect(await statusOf('/livez')).toBe(200);
  expect(await statusOf('/other')).toBe(404);
  // Only the other worker can pay it.
  const next = await world.pay('success');
  expect((await world.payouts.result(next)).outcome).toBe('SUCCESS');
  expect(ending.child.exitCode).toBeNull();
  release();
  expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
  expect(createsOf(world, ref).length).toBe(1);
  expect(await exited).toEqual([0, null]);
});

test('a second SIGTERM ends the worker at once, although a call is in flight', async () => {
  const ending = await startWatched('1h');
  const { release } = await world.payHeld('before', 'success');
  ending.child.kill('SIGTERM');
  await eventually(async () => (await statusOf('/readyz')) === 503 || undefined);
  expect(await ending.stop('SIGTERM')).toBe(1);
  release();
});

test('PAYOUTS_DRAIN ends the worker, although a call is in flight', async () => {
  const ending = await startWatched('400ms');
  const { release } = await world.payHeld('before', 'success');
  expect(await ending.stop('SIGTERM')).toBe(1);
  expect(ending.output()).toContain('PAYOUTS_DRAIN');
  release();
});
