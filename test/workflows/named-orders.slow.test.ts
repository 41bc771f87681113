/** Orders that the provider has named, and that could not be read to compare them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FaultInput } from '../../simulator/index.ts';
import type { PayoutRef } from '../../src/client/payouts.ts';
import type { PayoutState } from '../../src/contract/payout.ts';
import { cli } from '../support/cli.ts';
import { createsOf, debitsOf } from '../support/ledger.ts';
import { NO_POLLS, type TestWorld } from '../support/test-world.ts';
import { startWorld } from '../support/world.ts';

const by = 'olga';
const UNREADABLE: FaultInput = { kind: 'envelope', code: 900000 };
const isReviewed = ({ phase }: PayoutState) => phase === 'NEEDS_REVIEW';

let world: TestWorld;
beforeAll(async () => {
  // The confirmation window is as short as the deadline of the create, and no poll repeats a query.
  world = await startWorld({
    env: { ...NO_POLLS, PAYMENTS_CALL_TIMEOUT: '3s', PAYOUTS_CONFIRMATION_WINDOW: '1ms' },
  });
});
afterAll(() => world.stop());

const control = () => world.simulator.control;
const hide = ({ partnerOrderId }: PayoutRef) => control().changeOrder(partnerOrderId, { visible: false });
const orderOf = ({ partnerOrderId }: PayoutRef) =>
  control().ledgerOf(partnerOrderId).orders[0]?.orderId ?? 'no order';

/** Every read of an order fails during `work`. */
async function unreadable<T>(work: () => Promise<T>): Promise<T> {
  const fault = control().addFault({ operation: 'queryDetail', fault: UNREADABLE });
  try {
    return await work();
  } finally {
    control().removeFault(fault.id);
  }
}

async function refusesPlainDecisions(ref: PayoutRef, orderId: string): Promise<void> {
  expect(await world.until(ref, isReviewed)).toMatchObject({ reviewedOrderIds: [orderId] });
  const why = { type: 'NotAcceptedNow', message: expect.stringMatching(`^reviewedOrderIds: .*${orderId}`) };
  const decision = { by, created: false } as const;
  for (const then of ['retry', 'end'] as const)
    for (const named of [{}, { reviewedOrderIds: [] }, { reviewedOrderIds: ['another'] }])
      await expect(world.payouts.resolve(ref, { ...decision, then, ...named })).rejects.toMatchObject({
        cause: why,
      });
}

describe('H103 an order that was named once and could not be read', () => {
  /** In the confirmation window, the provider names the order of the create and then no longer. */
  async function forgotten(): Promise<PayoutRef> {
    const ref = await world.payWithFault({ kind: 'drop-after' }, 'success final=0s');
    await world.until(ref, ({ reasons }) => reasons.some(({ code }) => code === 'ORDER_NOT_COMPARED'));
    hide(ref);
    const { sentence } = await world.until(ref, isReviewed);
    expect(sentence).toContain(orderOf(ref));
    return ref;
  }

  test('in the confirmation window: the review shows it, and it is neither sent again nor denied', async () => {
    const ref = await unreadable(async () => {
      const reviewed = await forgotten();
      await refusesPlainDecisions(reviewed, orderOf(reviewed));
      return reviewed;
    });
    const orderId = orderOf(ref);
    // The order query finds it again.
    const retried = world.payouts.resolve(ref, {
      by,
      created: false,
      then: 'retry',
      reviewedOrderIds: [orderId],
    });
    await expect(retried).rejects.toMatchObject({
      cause: { message: expect.stringContaining(`still knows order ${orderId}`) },
    });
    expect(createsOf(world, ref)).toHaveLength(1);
    await world.payouts.resolve(ref, { by, created: true, orderId });
    control().changeOrder(ref.partnerOrderId, { visible: true });
    await world.payouts.poll(ref).catch(() => undefined);
    expect(await world.payouts.result(ref)).toMatchObject({ outcome: 'SUCCESS', orderId });
    expect(debitsOf(world, ref)).toBe(1);
  });

  test('a person who names it decides', async () => {
    await unreadable(async () => {
      const ref = await forgotten();
      const shown = await cli(world.workerEnvironment, ['status', ref.partnerOrderId]);
      expect(shown.stdout).toMatch(new RegExp(`orders to review +${orderOf(ref)}`));
      const flags = ['--by', by, '--not-created', 'end', '--reviewed-order-id', orderOf(ref)];
      expect((await cli(world.workerEnvironment, ['resolve', ref.partnerOrderId, ...flags])).code).toBe(0);
      expect((await world.payouts.result(ref)).reason?.code).toBe('RESOLVED_NOT_CREATED');
    });
  });

  test('in review: the review shows it although no decision was pending', async () => {
    const ref = await world.payWithFault({ kind: 'drop-before' }, 'success');
    await world.until(ref, isReviewed);
    await unreadable(async () => {
      const { orderId } = control().plantOrder(ref);
      await world.payouts.poll(ref);
      await world.until(ref, ({ reviewedOrderIds }) => reviewedOrderIds !== undefined);
      hide(ref);
      await refusesPlainDecisions(ref, orderId);
    });
    // Compared, and not this payout's: a person may end it without naming it.
    control().changeOrder(ref.partnerOrderId, { visible: true });
    await world.payouts.poll(ref);
    await world.until(ref, ({ sentence }) => sentence.includes('differs'));
    await world.payouts.resolve(ref, { by, created: false, then: 'end' });
    expect((await world.payouts.result(ref)).reason?.code).toBe('RESOLVED_NOT_CREATED');
  });

  test('while another order was tracked: the review shows it', async () => {
    const ref = await world.pay('stuck');
    await world.until(ref, ({ phase }) => phase === 'PROCESSING');
    const answers = { queryResult: { order_id: 'PO-unread' }, queryDetail: { orderId: 'another' } };
    control().changeOrder(ref.partnerOrderId, { answers });
    await world.payouts.poll(ref);
    await world.payouts.poll(ref);
    await world.until(ref, isReviewed);
    await refusesPlainDecisions(ref, 'PO-unread');
    expect(createsOf(world, ref)).toHaveLength(1);
  });
});
