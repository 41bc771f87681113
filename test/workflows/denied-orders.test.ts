/** The provider answers the create with an order that its queries deny, or report differently. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PayoutRef } from '../../src/client/payouts.ts';
import type { PayoutState } from '../../src/contract/payout.ts';
import { eventually } from '../support/eventually.ts';
import { createsOf, debitsOf } from '../support/ledger.ts';
import { NO_POLLS, type TestWorld } from '../support/test-world.ts';
import { startWorld } from '../support/world.ts';

const by = 'olga';
const codes = (reasons: readonly { code: string }[]) => reasons.map(({ code }) => code);
const isReviewed = ({ phase }: PayoutState) => phase === 'NEEDS_REVIEW';

let world: TestWorld;
beforeAll(async () => {
  // Every answer comes after the confirmation window, and only a person makes these payouts query the provider.
  world = await startWorld({
    env: { ...NO_POLLS, PAYMENTS_CALL_TIMEOUT: '3s', PAYOUTS_CONFIRMATION_WINDOW: '1ms' },
  });
});
afterAll(() => world.stop());

const change = (
  { partnerOrderId }: PayoutRef,
  to: Parameters<typeof world.simulator.control.changeOrder>[1],
) => world.simulator.control.changeOrder(partnerOrderId, to);

async function paid(): Promise<PayoutRef> {
  const ref = await world.pay('stuck');
  await world.until(ref, ({ phase }) => phase === 'PROCESSING');
  return ref;
}

/** The trade query does not find the order, and the order query answers with another one. */
const DENIED = { visible: false, answers: { queryDetail: { orderId: 'another' } } };
const KNOWN = { visible: true, answers: { queryDetail: null } };

/** The first denial starts the window, the second comes after its end. */
async function askTwice(ref: PayoutRef): Promise<void> {
  await world.payouts.poll(ref);
  await world.payouts.poll(ref);
}

describe('H132 the trade query does not find an order that was created', () => {
  test('but the order query does: the payout stays open and flagged, and ends as the provider says', async () => {
    const ref = await paid();
    const { partnerOrderId } = ref;
    const denial = world.simulator.control.addFault({
      operation: 'queryResult',
      partnerOrderId,
      fault: { kind: 'envelope', code: 900004 },
    });
    await askTwice(ref);
    const { phase } = await world.until(ref, ({ reasons }) =>
      reasons.some(({ message }) => message.includes('the order query knows it')),
    );
    expect(phase).toBe('PROCESSING');
    world.simulator.control.removeFault(denial.id);
    change(ref, { status: 'SUCCESS' });
    await world.payouts.poll(ref);
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
  });

  test("and the order query returns another beneficiary's: a person decides", async () => {
    const ref = await paid();
    change(ref, { visible: false, answers: { queryDetail: { receiver: { outOrderId: 'another' } } } });
    await askTwice(ref);
    expect((await world.until(ref, isReviewed)).sentence).toContain('the provider does not know it');
  });

  test('a decision that arrives during the adoption does not wait for the next review', async () => {
    const ref = await paid();
    change(ref, DENIED);
    await askTwice(ref);
    await world.until(ref, isReviewed);
    change(ref, KNOWN);
    const asked = world.hold(
      { operation: 'queryResult', partnerOrderId: ref.partnerOrderId, times: 1 },
      'before',
    );
    const polled = world.payouts.poll(ref);
    await eventually(asked.arrived);
    const voided = expect(
      world.payouts.resolve(ref, { by, created: false, then: 'retry' }),
    ).rejects.toMatchObject({ cause: { message: expect.stringMatching(/exists: the payout tracks it/) } });
    await world.until(ref, ({ sentence }) => sentence.startsWith(`${by} has decided`));
    asked.release();
    await polled;
    await voided;
    await world.until(ref, ({ phase }) => phase === 'PROCESSING');
    change(ref, DENIED);
    await askTwice(ref);
    await world.until(ref, isReviewed);
    // Rejected as soon as anything is sent again.
    await askTwice(ref);
    await askTwice(ref);
    expect([createsOf(world, ref).length, debitsOf(world, ref)]).toEqual([1, 1]);
  });

  test('a decision does not stand while the order query finds the order', async () => {
    const ref = await paid();
    change(ref, DENIED);
    await askTwice(ref);
    await world.until(ref, isReviewed);
    change(ref, { answers: KNOWN.answers });
    for (const then of ['retry', 'end'] as const)
      await expect(world.payouts.resolve(ref, { by, created: false, then })).rejects.toMatchObject({
        cause: { message: expect.stringMatching(/the order query still knows order/) },
      });
    expect(createsOf(world, ref)).toHaveLength(1);
  });
});

describe('H54 the trade query repeatedly names another order', () => {
  test('that does not match this payout: a person decides', async () => {
    const { orderId } = await world.payouts.result(await world.pay('success final=0s').then(polled));
    const ref = await paid();
    change(ref, { status: 'SUCCESS', answers: { queryResult: { order_id: orderId } } });
    await askTwice(ref);
    const { sentence, reasons } = await world.until(ref, isReviewed);
    expect(sentence).toContain(orderId);
    expect(codes(reasons)).toContain('SEVERAL_ORDERS');
    change(ref, { answers: { queryResult: null } });
    await world.payouts.poll(ref);
    await world.payouts.poll(ref).catch(() => undefined);
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
    expect((await world.payouts.state(ref)).reasons).toEqual([]);
  });
});

describe('H103 a decision in review', () => {
  test('does not wait for a provider that never answers', async () => {
    const ref = await world.payWithFault({ kind: 'drop-before' }, 'success');
    await world.until(ref, isReviewed);
    const { partnerOrderId } = ref;
    world.simulator.control.addFault({
      operation: 'queryResult',
      partnerOrderId,
      fault: { kind: 'status', status: 403 },
    });
    await world.payouts.poll(ref);
    await world.payouts.resolve(ref, { by, created: false, then: 'end' });
    expect((await world.payouts.result(ref)).reason?.code).toBe('RESOLVED_NOT_CREATED');
    expect((await world.payouts.state(ref)).orderId).toBeUndefined();
  });
});

async function polled(ref: PayoutRef): Promise<PayoutRef> {
  await world.until(ref, ({ phase }) => phase === 'PROCESSING');
  await world.payouts.poll(ref);
  return ref;
}
