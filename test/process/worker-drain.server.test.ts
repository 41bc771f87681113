/** How a worker process ends: readiness, calls in flight, the rate-limit lease, a second signal and the deadline. */
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePorts, loopback } from '../../scripts/dev-server/ports.ts';
import { eventually } from '../support/eventually.ts';
import { get } from '../support/http.ts';
import { createsOf } from '../support/ledger.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { type OwnProcess, startProgram } from '../support/processes.ts';

let world: PayoutWorld;
const workers: OwnProcess[] = [];

beforeAll(async () => {
  world = await PayoutWorld.start({
    idle: true,
    env: { PAYMENTS_CALL_TIMEOUT: '5m', PAYMENTS_LOCK_LIFETIME: '1h' },
  });
});
afterAll(async () => {
  for (const worker of workers) await worker.stop('SIGKILL');
  await world.stop();
});

interface Watched extends OwnProcess {
  statusOf(path: string): Promise<number>;
}

/** With the health endpoint. */
async function startWatched(drain: string): Promise<Watched> {
  const listen = loopback((await freePorts(1))[0]);
  const settings = { PAYOUTS_DRAIN: drain, PAYOUTS_HEALTH_LISTEN: listen };
  const environment = { ...world.workerEnvironment, ...settings };
  const worker = await startProgram('src/workers/main.ts', environment, /worker ready/);
  workers.push(worker);
  return { ...worker, statusOf: async (path) => (await get(`http://${listen}${path}`)).status };
}

const untilReadyIs = ({ statusOf }: Watched, status: number) =>
  eventually(async () => (await statusOf('/readyz')) === status || undefined);

test('SIGTERM: readiness falls, another worker takes the lease, the call in flight finishes; a second SIGTERM ends a worker at once', async () => {
  const ending = await startWatched('1h');
  await untilReadyIs(ending, 200);
  const { ref, release } = await world.payHeld('before', 'success');
  const other = await startWatched('1h');
  const exited = once(ending.child, 'exit');
  ending.child.kill('SIGTERM');
  await untilReadyIs(ending, 503);
  expect(await ending.statusOf('/livez')).toBe(200);
  expect(await ending.statusOf('/other')).toBe(404);
  // Only the other worker can pay it.
  const next = await world.pay('success');
  expect((await world.payouts.result(next)).outcome).toBe('SUCCESS');
  expect(ending.child.exitCode).toBeNull();
  release();
  expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
  expect((await world.payouts.state(ref)).reasons).toEqual([]);
  expect(createsOf(world, ref).length).toBe(1);
  expect(await exited).toEqual([0, null]);

  // The worker that is left gets two signals, although a call is in flight.
  const held = await world.payHeld('before', 'success');
  other.child.kill('SIGTERM');
  await untilReadyIs(other, 503);
  expect(await other.stop('SIGTERM')).toBe(1);
  held.release();
});

test('PAYOUTS_DRAIN ends the worker, although a call is in flight', async () => {
  const ending = await startWatched('400ms');
  const { release } = await world.payHeld('before', 'success');
  expect(await ending.stop('SIGTERM')).toBe(1);
  expect(ending.output()).toContain('PAYOUTS_DRAIN');
  release();
});
