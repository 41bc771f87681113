import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { createsOf, debitsOf } from '../support/ledger.ts';
import { newPartnerOrderId, type TestWorld } from '../support/test-world.ts';
import { startWorld } from '../support/world.ts';

let world: TestWorld;
beforeAll(async () => {
  world = await startWorld({ env: { PAYOUTS_APPROVAL_EXPIRES: '1h' } });
});
afterAll(() => world.stop());

const by = 'olga';

describe('H9 cancel ends a payout before its create, and is rejected after it', () => {
  test('while scheduled', async () => {
    const ref = await world.pay('success', { notBefore: new Date(Date.now() + 3_600_000).toISOString() });
    await world.until(ref, ({ phase }) => phase === 'SCHEDULED');
    const state = await world.payouts.cancel(ref, { by, reason: 'changed our mind' });
    expect(state).toMatchObject({ phase: 'DONE', outcome: 'NOT_CREATED' });
    expect(await world.payouts.result(ref)).toMatchObject({
      outcome: 'NOT_CREATED',
      reason: { code: 'CANCELLED', message: 'canceled by olga: changed our mind' },
    });
    expect(createsOf(world, ref)).toEqual([]);
  });

  test.each(['accountQuery', 'fee'] as const)('during %s', async (operation) => {
    const held = world.hold({ operation }, 'before');
    const ref = await world.pay('success', { clientId: newPartnerOrderId() });
    await eventually(held.arrived);
    await world.payouts.cancel(ref, { by });
    held.release();
    expect(await world.payouts.result(ref)).toMatchObject({
      outcome: 'NOT_CREATED',
      reason: { code: 'CANCELLED' },
    });
    expect(createsOf(world, ref)).toEqual([]);
  });

  test.each(['update', "Temporal's own cancellation"])('during the create, by %s: no effect', async (how) => {
    const { ref, release } = await world.payHeld('before', 'success');
    if (how === 'update')
      await expect(world.payouts.cancel(ref, { by })).rejects.toMatchObject({
        cause: { type: 'NotAcceptedNow', message: 'the creation has begun' },
      });
    else await world.payouts.handle(ref).cancel();
    release();
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
    expect(debitsOf(world, ref)).toBe(1);
    const { reasons } = await world.payouts.state(ref);
    expect(reasons.map(({ code }) => code)).toEqual(how === 'update' ? [] : ['CANCEL_TOO_LATE']);
  });

  test("after the create: the update is rejected with the reason, and Temporal's cancellation is noted without effect", async () => {
    const ref = await world.pay('stuck');
    await world.until(ref, ({ phase }) => phase === 'PROCESSING');
    await expect(world.payouts.cancel(ref, { by })).rejects.toMatchObject({
      cause: { type: 'NotAcceptedNow', message: expect.stringMatching(/order exists/) },
    });
    await world.payouts.handle(ref).cancel();
    await world.until(ref, ({ reasons }) => reasons.some(({ code }) => code === 'CANCEL_TOO_LATE'));
    world.simulator.control.changeOrder(ref.partnerOrderId, { status: 'SUCCESS' });
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
  });

  test("before the create, Temporal's cancellation has the same effect as the update", async () => {
    const ref = await world.pay('success', { notBefore: new Date(Date.now() + 3_600_000).toISOString() });
    await world.until(ref, ({ phase }) => phase === 'SCHEDULED');
    await world.payouts.handle(ref).cancel();
    expect(await world.payouts.result(ref)).toMatchObject({
      outcome: 'NOT_CREATED',
      reason: { code: 'CANCELLED' },
    });
  });
});

describe('approval', () => {
  const waiting = async (over = {}) => {
    const ref = await world.pay('success', { approval: 'required', ...over });
    const state = await world.until(ref, ({ phase }) => phase === 'AWAITING_APPROVAL');
    return { ref, state };
  };

  test('waits, shows its quote, and continues once approved', async () => {
    const { ref, state } = await waiting();
    expect(state.quote?.target).toEqual({ currency: 'CNY', amount: '100.00' });
    expect(Date.parse(state.approvalExpiresAt ?? '')).toBeGreaterThan(Date.now());
    expect(createsOf(world, ref)).toEqual([]);
    await world.payouts.approve(ref, { by });
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
  });

  test('refused, canceled, or decided twice', async () => {
    const refused = await waiting();
    await world.payouts.refuse(refused.ref, { by, note: 'wrong seller' });
    expect(await world.payouts.result(refused.ref)).toMatchObject({
      outcome: 'NOT_CREATED',
      reason: { code: 'APPROVAL_REFUSED', message: 'refused by olga: wrong seller' },
    });
    const canceled = await waiting();
    await world.payouts.cancel(canceled.ref, { by });
    expect(await world.payouts.result(canceled.ref)).toMatchObject({ reason: { code: 'CANCELLED' } });
    const early = await world.pay('stuck');
    await world.until(early, ({ phase }) => phase === 'PROCESSING');
    await expect(world.payouts.approve(early, { by })).rejects.toMatchObject({
      cause: { type: 'NotAcceptedNow' },
    });
  });

  test('expires as configured', async () => {
    const quick = await startWorld({ env: { PAYOUTS_APPROVAL_EXPIRES: '500ms' } });
    try {
      const ref = await quick.pay('success', { approval: 'required' });
      expect(await quick.payouts.result(ref)).toMatchObject({
        outcome: 'NOT_CREATED',
        reason: { code: 'APPROVAL_EXPIRED' },
      });
      expect(createsOf(quick, ref)).toEqual([]);
    } finally {
      await quick.stop();
    }
  });
});
