/** One deployment of the next version. `deployments.full.test.ts` rolls back, ramps, and begins with the last release. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { workerVersions } from '../../src/temporal/worker-versions.ts';
import { DEPLOYMENT, Deployment } from '../support/deployment.ts';
import { eventually } from '../support/eventually.ts';
import { LONG_LOCKS, LONG_PHASES, openInEveryPhase } from '../support/open-payouts.ts';
import { PayoutWorld } from '../support/payout-world.ts';

let world: PayoutWorld;
let deployment: Deployment;
beforeAll(async () => {
  world = await PayoutWorld.start({ idle: true, env: LONG_PHASES, settings: LONG_LOCKS });
  deployment = new Deployment(world);
});
afterAll(async () => {
  await deployment.close();
  await world.stop();
});

test('H40 rolling: payouts in every phase end well, and doctor says when the old version may go', async () => {
  await deployment.start('v1', 'ours');
  await eventually(async () => (await workerVersions(world.client)).versions.length > 0 || undefined);
  expect(await deployment.doctor()).toContain(
    `set-current-version --deployment-name ${DEPLOYMENT} --build-id v1`,
  );
  await deployment.setCurrent('v1');
  const opened = await openInEveryPhase(world);
  const versions = () => Promise.all(opened.map(({ ref }) => deployment.versionOf(ref)));
  expect(await versions()).toEqual(opened.map(() => 'v1'));
  await deployment.start('v2', 'next');
  await deployment.setCurrent('v2');
  const onNext = await world.pay('success');
  expect((await world.payouts.result(onNext)).outcome).toBe('SUCCESS');
  expect(await deployment.versionOf(onNext)).toBe('v2');
  // The dev server is older than that of production, and keeps them where they are.
  expect(await versions()).toEqual(opened.map(() => 'v1'));
  await eventually(async () => (await deployment.openOn('v1')) === opened.length || undefined);
  expect(await deployment.doctor()).toMatch(/v1 \(old\): \d open payouts?, keep its workers/);
  await deployment.expectEnds(opened);
  await eventually(async () => (await deployment.openOn('v1')) === 0 || undefined);
  expect(await deployment.doctor()).toContain('v1 (old): 0 open payouts, its workers may stop');
  expect(await deployment.stop('v1')).toBe(0);
});
