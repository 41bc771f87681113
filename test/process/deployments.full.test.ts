/**
 * Worker deployment versions with payouts open in every phase. The next version begins each payout with another command, so
 * a workflow task on the wrong version fails. On the server of production, payouts move to another version when they continue
 * as new; the dev server is older and keeps them.
 */
import { Client } from '@temporalio/client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { startTemporalServer, type TemporalServer } from '../../scripts/temporal-server.ts';
import type { PayoutRef } from '../../src/client/payouts.ts';
import { stateQuery } from '../../src/contract/workflows.ts';
import { workerVersions } from '../../src/temporal/worker-versions.ts';
import { DEPLOYMENT, Deployment } from '../support/deployment.ts';
import { eventually } from '../support/eventually.ts';
import { LONG_LOCKS, LONG_PHASES, type OpenPayout, openInEveryPhase } from '../support/open-payouts.ts';
import { PayoutWorld } from '../support/payout-world.ts';

/** Without a cache, Go builds the server of production, perhaps on a busy machine. */
const SERVER_BUILD_LIMIT_MS = 65 * 60_000;

const SERVERS = [
  { name: 'the server of production', movesOn: true },
  { name: 'the dev server', movesOn: false },
];

describe.each(SERVERS)('H40 deployments on $name', ({ movesOn }) => {
  let server: TemporalServer | undefined;
  let world: PayoutWorld;
  let deployment: Deployment;
  let endedOnFirst: PayoutRef;
  let hasFailed = false;
  beforeAll(async () => {
    server = movesOn ? await startTemporalServer({ historyShards: 4 }) : undefined;
    const address = server?.address ?? inject('temporalAddress');
    world = await PayoutWorld.start({ idle: true, address, env: LONG_PHASES, settings: LONG_LOCKS });
    deployment = new Deployment(world);
  }, SERVER_BUILD_LIMIT_MS);
  // Each test continues with the versions that the tests before it deployed.
  beforeEach(({ skip }) => skip(hasFailed, 'a test before it failed'));
  afterEach(({ task }) => {
    hasFailed ||= task.result?.state === 'fail';
  });
  afterAll(async () => {
    await deployment.close();
    await world.stop();
    await server?.stop();
  });

  const versionOf = (ref: PayoutRef) => deployment.versionOf(ref);
  const openOn = (buildId: string) => deployment.openOn(buildId);
  const expectEnds = (opened: readonly OpenPayout[]) => deployment.expectEnds(opened);

  async function untilOn(buildId: string, opened: readonly OpenPayout[]): Promise<void> {
    for (const { ref } of opened)
      await eventually(async () => {
        if ((await versionOf(ref)) === buildId) return true;
        // A payout that waits for days learns of the version at its next workflow task.
        await world.payouts.notify(ref, { receivedAt: new Date().toISOString(), partnerOrderId: 'another' });
        return undefined;
      });
  }

  async function firstOn(buildId: string, opened: readonly OpenPayout[]): Promise<PayoutRef> {
    for (const { ref } of opened) if ((await versionOf(ref)) === buildId) return ref;
    throw new Error(`no payout has ended on ${buildId}`);
  }

  /** After the deployment of `buildId`: those that can have moved, and all others stay on `before`. */
  async function expectMoved(opened: readonly OpenPayout[], before: string, buildId: string): Promise<void> {
    const moved = movesOn ? opened.filter(({ isCalling }) => !isCalling) : [];
    await untilOn(buildId, moved);
    for (const one of opened) if (!moved.includes(one)) expect(await versionOf(one.ref)).toBe(before);
  }

  test('without a current version, doctor says how to set one', async () => {
    await deployment.start('v1', 'released');
    await eventually(async () => (await workerVersions(world.client)).versions.length > 0 || undefined);
    expect(await deployment.doctor()).toContain(
      `set-current-version --deployment-name ${DEPLOYMENT} --build-id v1`,
    );
    await deployment.setCurrent('v1');
    await eventually(async () => (await deployment.doctor()).includes('v1 (current)') || undefined);
  });

  test('rolling: payouts in every phase end well, and doctor says when the old version may go', async () => {
    const opened = await openInEveryPhase(world);
    expect(await Promise.all(opened.map(({ ref }) => versionOf(ref)))).toEqual(opened.map(() => 'v1'));
    await deployment.start('v2', 'next');
    await deployment.setCurrent('v2');
    const onNext = await world.pay('success');
    expect((await world.payouts.result(onNext)).outcome).toBe('SUCCESS');
    expect(await versionOf(onNext)).toBe('v2');
    await expectMoved(opened, 'v1', 'v2');
    await eventually(async () => (await openOn('v1')) === opened.length - (movesOn ? 6 : 0) || undefined);
    expect(await deployment.doctor()).toMatch(/v1 \(old\): \d open payouts?, keep its workers/);
    await expectEnds(opened);
    await eventually(async () => (await openOn('v1')) === 0 || undefined);
    expect(await deployment.doctor()).toContain('v1 (old): 0 open payouts, its workers may stop');
    expect(await deployment.stop('v1')).toBe(0);
  });

  test('rollback: payouts that the newer version began end well', async () => {
    const opened = await openInEveryPhase(world);
    await deployment.start('v1', 'released');
    await deployment.setCurrent('v1');
    await expectMoved(opened, 'v2', 'v1');
    await expectEnds(opened);
    expect(await deployment.stop('v2')).toBe(0);
  });

  test('ramp: payouts start on both versions, and end well when the ramp is taken back', async () => {
    await deployment.start('v3', 'next');
    await deployment.setRamp('v3', 50);
    const opened: OpenPayout[] = [];
    const seen = new Set<string | undefined>();
    while (seen.size < 2) {
      const ref = await world.pay('stuck');
      await world.until(ref, ({ phase }) => phase === 'PROCESSING');
      seen.add(await versionOf(ref));
      const finish = () => world.simulator.control.changeOrder(ref.partnerOrderId, { status: 'SUCCESS' });
      opened.push({ ref, phase: 'PROCESSING', isCalling: false, finish, outcome: 'SUCCESS', creates: 1 });
    }
    expect([...seen].sort()).toEqual(['v1', 'v3']);
    await deployment.setRamp('', 0);
    if (movesOn) await untilOn('v1', opened);
    await expectEnds(opened);
  });

  test('rainbow: two old versions drain while a third one is current', async () => {
    const onFirst = await openInEveryPhase(world);
    await deployment.setCurrent('v3');
    const onSecond = await openInEveryPhase(world);
    await deployment.start('v4', 'next');
    await deployment.setCurrent('v4');
    await expectMoved(onFirst, 'v1', 'v4');
    await expectMoved(onSecond, 'v3', 'v4');
    await expectEnds([...onFirst, ...onSecond]);
    for (const old of ['v1', 'v3']) {
      await eventually(async () => (await openOn(old)) === 0 || undefined);
      expect(await deployment.stop(old)).toBe(0);
    }
    endedOnFirst = await firstOn('v1', onFirst);
  });

  test('H190 a payout that ended on a version without workers answers again when one runs', async () => {
    const { connection } = world.client;
    const impatient = new Client({ connection, namespace: world.namespace });
    const handle = impatient.workflow.getHandle(world.payouts.handle(endedOnFirst).workflowId);
    const ask = () => handle.query(stateQuery);
    await expect(ask()).rejects.toThrow();
    await deployment.start('v1', 'released');
    expect((await eventually(() => ask().catch(() => undefined))).phase).toBe('DONE');
  });
});
