/** `payouts settings`, and what `doctor` says about it. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SharedSettingsOf } from '../../src/client/shared-settings.ts';
import { checkSharedSettings } from '../../src/starters/cli/doctor/workers.ts';
import { temporaryFolder } from '../setup/fakes.ts';
import { cli } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { createsOf } from '../support/ledger.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const BY = ['--by', 'olga', '--reason', 'a new application'] as const;
let world: VirtualWorld;
const run = (...args: string[]) => cli(world.workerEnvironment, ['settings', ...args]);
const inForce = () =>
  eventually(async () => {
    const [one] = await new SharedSettingsOf(world.client, 'test').list();
    return (one?.inForce ?? 0) === one?.shared?.version || undefined;
  });
const doctor = () =>
  checkSharedSettings({ sharedSettings: new SharedSettingsOf(world.client, 'test') }, 'default');

beforeAll(async () => {
  world = await VirtualWorld.start({ approvals: null });
});
afterAll(() => world.stop());

test('H250 says that they are missing, and what sets them; then the payout that waited is paid', async () => {
  const ref = await world.pay('success');
  await world.until(ref, ({ phase }) => phase === 'PAUSED');
  const missing = await run();
  expect(missing.stdout).toMatch(/no create call is sent/);
  expect(missing.code).toBe(1);
  expect(await doctor()).toMatchObject({
    verdict: 'problem',
    advice: expect.stringContaining('--approvals'),
  });
  const half = await run('--approvals', 'none', ...BY);
  expect({ code: half.code, stderr: half.stderr }).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--recovered-at'),
  });
  const set = await run('--approvals', 'none', '--recovered-at', 'never', ...BY, '--json');
  expect(set.json()).toMatchObject([
    { app: 'default', shared: { version: 1, by: 'olga', reason: 'a new application', recoveredAt: null } },
  ]);
  expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
  expect(createsOf(world, ref)).toHaveLength(1);
  await inForce();
  expect(await doctor()).toMatchObject({ verdict: 'ok', detail: expect.stringContaining('by olga') });
});

test('H251 sets the policy of a file, keeps the rest, and shows both', async () => {
  const file = join(temporaryFolder(), 'approvals.json');
  writeFileSync(
    file,
    '{ "applications": { "default": { "CNY": "50.00" } }, "callers": { "shop": { "CNY": "5.00" } } }',
  );
  const set = await run('--approvals', file, ...BY, '--json');
  const approvals = { above: { CNY: '50.00' }, callers: { shop: { CNY: '5.00' } } };
  expect(set.json()).toMatchObject([{ shared: { version: 2, recoveredAt: null, approvals } }]);
  expect((await run()).stdout).toMatch(/above 50\.00 CNY/);
  writeFileSync(file, '{ "applications": { "east": {} } }');
  expect((await run('--approvals', file, ...BY)).stderr).toMatch(/lists no application east/);
  const first = ['--app', 'default', '--app-id', 'demo-app', '--first'];
  const again = await run(...first, '--approvals', 'none', '--recovered-at', 'never', ...BY, '--json');
  expect(again.json()).toMatchObject([{ shared: { version: 2, approvals } }]);
});

test('H252 sets the time of a recovery by the clock of Temporal', async () => {
  const set = await run('--recovered-at', 'now', ...BY, '--json');
  expect(set.json()).toMatchObject([
    { shared: { version: 3, recoveredAt: expect.stringMatching(/^20.*Z$/) } },
  ]);
  expect((await run('--recovered-at', '2026-01-31', ...BY, '--json')).json()).toMatchObject([
    { shared: { recoveredAt: '2026-01-31T00:00:00.000Z' } },
  ]);
});

test('H253 doctor shows that they are from before a failover', async () => {
  world.system.server.failoverVersion += 10;
  expect(await doctor()).toMatchObject({
    verdict: 'problem',
    detail: expect.stringContaining('failed over'),
  });
  expect((await run()).code).toBe(1);
  expect((await run('--recovered-at', 'now', ...BY)).code).toBe(0);
  await inForce();
  expect(await doctor()).toMatchObject({ verdict: 'ok' });
});

test('H252 doctor shows applications that differ in the time of the recovery', async () => {
  const change = { by: 'olga', reason: 'a test', recoveredAt: null, approvals: { callers: {} } };
  await new SharedSettingsOf(world.client, 'test').changeOne('east', 'east-app', change);
  const different = await eventually(async () => {
    const check = await doctor();
    return check.verdict === 'problem' ? check : undefined;
  });
  expect(different.detail).toMatch(/differ in when Temporal recovered .*east: never/);
});

test.each([
  [['--by', 'olga']],
  [['--recovered-at', 'now']],
  [['--recovered-at', 'now', '--by', 'olga']],
  [['--recovered-at', 'yesterday', ...BY]],
  [['--recovered-at', '2999-01-01', ...BY]],
  [['--approvals', 'missing.json', ...BY]],
  [['--approvals', 'none', '--app-id', 'demo-app', ...BY]],
  [['--approvals', 'none', '--app', 'default', '--first', ...BY]],
])('refuses %j', async (args) => {
  expect((await run(...args)).code).toBe(2);
});
