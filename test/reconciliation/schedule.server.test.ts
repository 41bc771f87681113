import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { workerConfig } from '../../src/config/config.ts';
import { reconciliationId, reportId } from '../../src/contract/ids.ts';
import { ensureSchedules } from '../../src/workers/kept-workflows.ts';
import { eventually } from '../support/eventually.ts';
import { createsOf } from '../support/ledger.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { type OwnProcess, startProgram } from '../support/processes.ts';
import { terminate } from '../support/reconciliation.ts';

const WEEK_MS = 7 * 24 * 3_600_000;

let world: PayoutWorld;
let worker: OwnProcess | undefined;
beforeAll(async () => {
  world = await PayoutWorld.start({
    idle: true,
    env: { PAYOUTS_RECONCILE_EVERY: '1s', PAYOUTS_FOLLOW_UP: '1s' },
  });
  worker = await startProgram('src/workers/main.ts', world.workerEnvironment, /worker ready/);
});
afterAll(async () => {
  await worker?.stop('SIGKILL');
  await world.stop();
});

describe('worker processes create the schedules', () => {
  test('H10 a payout terminated in the Temporal UI continues automatically, and its follow-up comes after its end', async () => {
    const ref = await world.pay('slow final=1h');
    await world.until(ref, ({ phase }) => phase === 'PROCESSING');
    const stopped = await terminate(world, ref);
    await eventually(async () => (await world.payouts.handle(ref).describe()).runId !== stopped || undefined);
    await world.until(ref, ({ phase }) => phase === 'PROCESSING');
    world.simulator.control.changeOrder(ref.partnerOrderId, { status: 'SUCCESS' });
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
    expect(createsOf(world, ref).length).toBe(1);
    const followUp = world.client.workflow.getHandle(`payout-follow-up:default:${ref.partnerOrderId}`);
    await eventually(() =>
      followUp.describe().then(
        () => true,
        () => undefined,
      ),
    );
    expect(await followUp.result()).toMatchObject({ outcome: 'SUCCESS', changed: false, checks: 1 });
  });

  test('several workers may race for the schedules; a new setting changes them, and a pause persists', async () => {
    const config = (every: string) =>
      workerConfig({ ...world.workerEnvironment, PAYOUTS_RECONCILE_EVERY: every, PAYOUTS_FOLLOW_UP: '1d' });
    const { schedule } = world.client;
    await schedule.getHandle(reconciliationId('test')).pause('by a test');
    await Promise.all([1, 2, 3].map(() => ensureSchedules(world.client, config('30m'))));
    const found = await schedule.getHandle(reconciliationId('test')).describe();
    expect(found.spec.intervals).toMatchObject([{ every: 1_800_000 }]);
    expect(found.state).toMatchObject({ paused: true, note: 'by a test' });
    expect(found.policies.overlap).toBe('SKIP');
    const daily = await schedule.getHandle(reportId('test')).describe();
    expect(daily.action).toMatchObject({ workflowType: 'payoutReport', args: [{ environment: 'test' }] });
    expect(daily.policies).toMatchObject({ overlap: 'BUFFER_ALL', catchupWindow: WEEK_MS });
  });

  test('a report that starts late reports the day before the one that it was scheduled for', async () => {
    const { schedule, workflow } = world.client;
    const [start, end] = [new Date('2026-01-02T00:00:00Z'), new Date('2026-01-04T00:00:00Z')];
    await schedule.getHandle(reportId('test')).backfill({ start, end });
    for (const [scheduled, day] of [
      ['2026-01-02', '2026-01-01'],
      ['2026-01-03', '2026-01-02'],
    ]) {
      const handle = workflow.getHandle(`${reportId('test')}-${scheduled}T00:10:00Z`);
      await eventually(() =>
        handle.describe().then(
          () => true,
          () => undefined,
        ),
      );
      expect(await handle.result()).toMatchObject({ day });
    }
  });
});
