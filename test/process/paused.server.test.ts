import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PayoutRef } from '../../src/client/payouts.ts';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { cli } from '../support/cli.ts';
import { DeskBrowser } from '../support/desk.ts';
import { get, post, startApiServer, type TestApiServer } from '../support/http.ts';
import { createsOf, debitsOf } from '../support/ledger.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { strictWorld } from '../support/rate-limit.ts';
import { allPaidOnce, payUntilBusy, untilMoreCalls, WorkerProcesses } from '../support/workers.ts';

const LIMIT = 10;

let world: PayoutWorld;
let workers: WorkerProcesses;
let service: TestApiServer;
beforeAll(async () => {
  world = await PayoutWorld.start(strictWorld(LIMIT));
  workers = new WorkerProcesses(world);
  service = await startApiServer(world.client, {
    PAYOUTS_DESK: 'on',
    PAYOUTS_API_KEYS_FILE: keysFile([callerEntry('olga'), callerEntry('shop', { verbs: ['read', 'start'] })]),
  });
});
afterAll(async () => {
  await service.close();
  await workers.end();
  await world.stop();
});

const run = (...args: string[]) => cli(world.workerEnvironment, args);
const phaseIs = (ref: PayoutRef, phases: readonly string[]) =>
  world.until(ref, ({ phase }) => phases.includes(phase));

test('H210 a pause stops the create calls of every process within seconds, until it is resumed', async () => {
  await workers.start();
  await workers.start();
  const open = await world.pay('slow final=10m notify=none');
  await phaseIs(open, ['PROCESSING']);
  const refs = await payUntilBusy(world, 30, LIMIT);

  // The command can take longer than the payouts, so others start until it returns.
  const pause = { returned: false };
  const command = run('pause', '--app', 'default', '--by', 'olga', '--reason', 'a drill', '--json').finally(
    () => {
      pause.returned = true;
    },
  );
  while (!pause.returned) refs.push(...(await payUntilBusy(world, 5, 5)));
  const paused = await command;
  const pausedAtMs = Date.now();
  expect(paused.json()).toMatchObject({ app: 'default', paused: { by: 'olga', reason: 'a drill' } });
  for (const ref of refs) await phaseIs(ref, ['PAUSED', 'PROCESSING', 'FETCHING_DETAIL', 'DONE']);
  const creates = () => world.simulator.control.ledger().creates;
  for (const { atMs } of creates()) expect(atMs).toBeLessThan(pausedAtMs + 5_000);

  // Neither another owner nor another start changes that, and queries continue.
  const before = creates().length;
  const owner = await workers.owner();
  await owner.stop('SIGKILL');
  await workers.ownedBy((next) => next !== owner);
  const late = await world.pay('success final=0s');
  await phaseIs(late, ['PAUSED']);
  await untilMoreCalls(world, 3);
  expect(creates().length).toBe(before);
  expect(refs.filter((ref) => createsOf(world, ref).length === 0).length).toBeGreaterThan(0);
  expect(debitsOf(world, late)).toBe(0);

  const application = `${service.url}/v1/applications/default`;
  expect((await get(application, as('shop'))).body).toMatchObject({ paused: { by: 'olga' } });
  expect((await post(`${application}/resume`, '', as('shop'))).status).toBe(403);
  expect((await run('list')).stdout).toMatch(
    /default is paused: no create call is sent \(by olga, .*: a drill\)/,
  );
  expect((await run('doctor')).stdout).toMatch(/FAIL create calls: default is paused/);
  const desk = new DeskBrowser(service.url);
  await desk.signIn('key-of-olga');
  expect((await desk.get('/desk')).html).toContain('Payments are paused: nothing is sent.');

  expect((await post(`${application}/resume`, '', as('olga'))).body).toEqual({
    app: 'default',
    paused: null,
  });
  await allPaidOnce(world, [...refs, late]);
  expect((await run('doctor')).stdout).toMatch(/ok {3}create calls: not paused/);
});
