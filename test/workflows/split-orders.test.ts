/** Orders that the provider splits: no payout ends before every payment has, and the sums are those of the ledger. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PayoutRef } from '../../src/client/payouts.ts';
import { addMoney, type Money, sumMoney } from '../../src/contract/money.ts';
import type { PayoutState } from '../../src/contract/payout.ts';
import type { TestWorld } from '../support/test-world.ts';
import { startWorld } from '../support/world.ts';

let world: TestWorld;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.stop());

const answered = ({ partnerOrderId }: PayoutRef, operation: 'queryResult' | 'queryPayDetail') =>
  world.simulator.control.calls({ partnerOrderId, operation }).length;
const flagged = ({ reasons }: PayoutState) => reasons.some(({ code }) => code === 'DETAIL_DISAGREES');

function orderOf({ partnerOrderId }: PayoutRef) {
  const [order] = world.simulator.control.ledgerOf(partnerOrderId).orders;
  if (!order) throw new Error(`the simulator has no order ${partnerOrderId}`);
  return order;
}

/** The paid and the failed sum according to the ledger. */
function sumsOf(ref: PayoutRef): { received: Money; failed: Money } {
  const { splits, target } = orderOf(ref);
  const of = (wanted: string) =>
    sumMoney(
      target.currency,
      splits.filter(({ status }) => status === wanted).map((split) => split.target),
    );
  return { received: of('SUCCESS'), failed: of('FAILED') };
}

describe('H20 a final status with open payments is not the end', () => {
  test.each(['SUCCESS', 'PARTIAL_SUCCESS', 'FAILED'])('%s', async (status) => {
    const ref = await world.pay('stuck splits=3');
    await world.until(ref, ({ phase }) => phase === 'PROCESSING');
    world.simulator.control.changeOrder(ref.partnerOrderId, { status, complete: false });
    const before = answered(ref, 'queryResult');
    // One query at a time: when the third arrives, the previous answers have been evaluated.
    const state = await world.until(ref, () => answered(ref, 'queryResult') >= before + 3);
    expect(state.outcome).toBeUndefined();
    expect(answered(ref, 'queryPayDetail')).toBe(0);
    world.simulator.control.changeOrder(ref.partnerOrderId, { complete: true });
    const result = await world.payouts.result(ref);
    expect([result.outcome, result.splits.length]).toEqual([status, 3]);
  });
});

describe('H18 the sums of several payments', () => {
  test.each([
    ['split splits=4', 'SUCCESS', '100.01', 0],
    ['partial splits=5 failed=2', 'PARTIAL_SUCCESS', '100.01', 2],
    ['partial splits=7 failed=6', 'PARTIAL_SUCCESS', '1234567890123456.78', 6],
    ['failure splits=3', 'FAILED', '99.99', 3],
  ])('%s ends as %s, with the sums of the ledger to the cent', async (scenario, outcome, amount, failed) => {
    const instructedAmount = { currency: 'CNY', amount };
    const ref = await world.pay(scenario, { instructedAmount });
    const result = await world.payouts.result(ref);
    const order = orderOf(ref);
    const sums = sumsOf(ref);
    expect(result).toMatchObject({ outcome, orderId: order.orderId, ...sums });
    expect(addMoney(sums.received, sums.failed)).toEqual(instructedAmount);
    expect(
      result.splits.map(({ distributeId, target, status }) => ({ distributeId, target, status })),
    ).toEqual(order.splits.map(({ distributeId, target, status }) => ({ distributeId, target, status })));
    expect(result.splits.filter(({ status }) => status === 'FAILED').length).toBe(failed);
    expect(result.debits).toMatchObject([{ pay: order.pay, fee: order.fee }]);
  });

  test.each([
    ['that failed', 0],
    ['that succeeded', 4],
  ])(
    'a payment %s that is one cent short keeps a partial success open until it is corrected',
    async (_which, index) => {
      const ref = await world.pay('stuck splits=5');
      await world.until(ref, ({ phase }) => phase === 'PROCESSING');
      const { control } = world.simulator;
      control.changeOrder(ref.partnerOrderId, { status: 'PARTIAL_SUCCESS' });
      const right = orderOf(ref).splits[index]?.target.amount ?? '';
      const short = (Number(right) - 0.01).toFixed(2);
      control.changeOrder(ref.partnerOrderId, { splits: [{ index, amount: short }] });
      const state = await world.until(ref, flagged);
      expect(state.outcome).toBeUndefined();
      control.changeOrder(ref.partnerOrderId, { splits: [{ index, amount: right }] });
      expect(await world.payouts.result(ref)).toMatchObject({ outcome: 'PARTIAL_SUCCESS', ...sumsOf(ref) });
    },
  );
});

describe('H13 debits other than quoted', () => {
  const ended = async (scenario: string) => {
    const ref = await world.pay(scenario);
    const { debits } = await world.payouts.result(ref);
    const { attention } = await world.payouts.state(ref).then(({ reasons }) => ({
      attention: reasons.map(({ code }) => code),
    }));
    return { debited: debits.map(({ pay }) => pay.amount), attention, ordered: orderOf(ref).pay.amount };
  };

  test('an answer that later ones correct is not reported', async () => {
    const { debited, attention, ordered } = await ended('debit-differs percent=10 answers=2');
    expect(debited).toEqual([ordered]);
    expect(attention).toEqual([]);
  });

  test('what the provider keeps reporting is reported, and flagged', async () => {
    const { debited, attention, ordered } = await ended('debit-differs percent=10');
    expect(debited).not.toEqual([ordered]);
    expect(attention).toEqual(['DEBITS_DIFFER_FROM_QUOTE']);
  });
});
