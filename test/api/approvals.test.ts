import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { createsOf } from '../support/ledger.ts';
import { ApprovalStage } from './approval-stage.ts';

let stage: ApprovalStage;
const ref = (partnerOrderId: string) => ({ partnerOrderId });

beforeAll(async () => {
  stage = await ApprovalStage.start();
});
afterAll(() => stage.stop());

test('a payout that requires approval requotes when approved after its lock expired; a price above the approved one requires another approval', async () => {
  const [free, bounded] = [await stage.started(), await stage.started()];
  const [first, second] = [await stage.waits(free), await stage.waits(bounded)];
  const over = Math.max(...[first, second].map(({ lockExpiresAt = '' }) => Date.parse(lockExpiresAt)));
  await eventually(() => stage.world.clock.wallMs() > over || undefined);
  const { rates } = stage.world.simulator.control.settings();
  stage.world.simulator.control.changeSettings({ rates: { ...rates, 'USD/CNY': '7.0000' } });
  try {
    expect((await stage.approve(free, 'desk')).status).toBe(200);
    expect((await stage.approve(bounded, 'desk', { tolerance: '9.9' })).status).toBe(200);
    // The approver's tolerance covers the new price, so this payout continues.
    const paid = await stage.ends(bounded);
    expect(paid).toMatchObject({ outcome: 'SUCCESS', quote: { exchangeRate: '7.0000' } });
    expect(paid.quote?.lockRateId).not.toBe(second.quote?.lockRateId);
    // The approved price is the only bound of this one.
    const again = await stage.until(
      free,
      ({ phase, quote }) => phase === 'AWAITING_APPROVAL' && quote?.lockRateId !== first.quote?.lockRateId,
    );
    expect(again.quote?.exchangeRate).toBe('7.0000');
    // A price that no approver has seen gets a full approval period.
    expect(Date.parse(again.approvalExpiresAt ?? '')).toBeGreaterThan(
      Date.parse(first.approvalExpiresAt ?? ''),
    );
    expect(createsOf(stage.world, ref(free))).toEqual([]);
    // Without its lock, a second decision is the first one repeated.
    expect(await stage.approve(free, 'desk')).toMatchObject({ body: { phase: 'AWAITING_APPROVAL' } });
    const { lockRateId = '' } = again.quote ?? {};
    expect((await stage.approve(free, 'desk', { lockRateId })).status).toBe(200);
    expect((await stage.ends(free)).outcome).toBe('SUCCESS');
  } finally {
    stage.world.simulator.control.changeSettings({ rates });
  }
});

test('notBefore survives a restart of the workers; an approval expires as configured', async () => {
  const notBefore = new Date(stage.world.clock.wallMs() + 60_000).toISOString();
  const due = await stage.started({ approval: 'none', notBefore });
  await stage.until(due, ({ phase }) => phase === 'SCHEDULED');
  await stage.world.stopWorkers();
  await eventually(() => stage.world.clock.wallMs() > Date.parse(notBefore) || undefined);
  expect(createsOf(stage.world, ref(due))).toEqual([]);
  await stage.world.startWorkers({ PAYOUTS_APPROVAL_EXPIRES: '300ms' });
  const { outcome, createdAt = '' } = await stage.ends(due);
  expect(outcome).toBe('SUCCESS');
  expect(createdAt >= notBefore).toBe(true);
  const forgotten = await stage.started();
  expect((await stage.ends(forgotten)).reason?.code).toBe('APPROVAL_EXPIRED');
  expect(createsOf(stage.world, ref(forgotten))).toEqual([]);
});
