/** A lock expires while a payout waits for approval: the new quote must be within the limits, and what was approved. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { PayoutState } from '../../src/contract/payout.ts';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';
import { eventually } from '../support/eventually.ts';
import { createsOf } from '../support/ledger.ts';
import type { TestWorld } from '../support/test-world.ts';
import { startWorld } from '../support/world.ts';

const LOCK_LIFETIME_MS = 3_000;

let world: TestWorld;
let asFound: ReturnType<TestWorld['simulator']['control']['settings']>;
beforeAll(async () => {
  world = await startWorld({ env: { PAYMENTS_LOCK_LIFETIME: `${LOCK_LIFETIME_MS}ms` } });
  asFound = world.simulator.control.settings();
});
afterEach(() => world.simulator.control.changeSettings({ rates: asFound.rates, feeRate: asFound.feeRate }));
afterAll(() => world.stop());

/** A payout that waits for approval with an expired lock. */
async function waiting(limits: PayoutRequest['limits']) {
  const ref = await world.pay('success', { approval: 'required', ...(limits && { limits }) });
  const { quote } = await world.until(ref, ({ phase }) => phase === 'AWAITING_APPROVAL');
  const over = world.clock.wallMs() + LOCK_LIFETIME_MS;
  await eventually(() => world.clock.wallMs() > over || undefined);
  return { ref, quote };
}

const usd = (amount: string) => ({ currency: 'USD', amount });
const dearer = () =>
  world.simulator.control.changeSettings({
    rates: { ...asFound.rates, 'USD/CNY': '6.5000' },
    feeRate: '0.05',
  });

describe('approved after its lock expired', () => {
  test.each([
    ['maxPay', { maxPay: usd('15.00') }],
    ['minRate', { minRate: '7' }],
    ['maxFee', { maxFee: usd('0.50') }],
  ])('H13 with a new quote outside %s it ends as not created', async (_limit, limits) => {
    const { ref, quote } = await waiting(limits);
    expect(quote).toBeDefined();
    dearer();
    await world.payouts.approve(ref, { by: 'olga' });
    expect(await world.payouts.result(ref)).toMatchObject({
      outcome: 'NOT_CREATED',
      reason: { code: 'QUOTE_OUT_OF_LIMITS' },
    });
    expect(createsOf(world, ref)).toEqual([]);
  });

  const wide = { maxPay: usd('20.00'), minRate: '0.000001', maxFee: usd('20.00') };

  test('H222 a dearer quote is approved again, by a person who names it, whatever the limits allow', async () => {
    const { ref, quote } = await waiting(wide);
    dearer();
    const first = { by: 'olga', lockRateId: quote?.lockRateId };
    await world.payouts.approve(ref, first);
    const isDearer = (state: PayoutState) =>
      state.phase === 'AWAITING_APPROVAL' && state.quote?.exchangeRate === '6.5000';
    const again = await world.until(ref, isDearer);
    expect(again.sentence).toMatch(
      /approval of olga covers at most 14\.11 USD with a fee of at most 0\.07 USD/,
    );
    expect(again.nextStep).toMatch(
      /covers a new quote of at most 16\.15 USD with a fee of at most 0\.77 USD/,
    );
    // Neither the first decision once more, nor one that may mean the first quote, approves the second.
    expect((await world.payouts.approve(ref, first)).phase).toBe('AWAITING_APPROVAL');
    expect((await world.payouts.approve(ref, { by: 'olga' })).phase).toBe('AWAITING_APPROVAL');
    await expect(world.payouts.approve(ref, { by: 'piet' })).rejects.toMatchObject({
      cause: { type: 'NotAcceptedNow', message: expect.stringMatching(/^lockRateId: is required/) },
    });
    expect(createsOf(world, ref)).toEqual([]);
    await world.payouts.approve(ref, { by: 'piet', lockRateId: again.quote?.lockRateId });
    const result = await world.payouts.result(ref);
    expect(result).toMatchObject({
      outcome: 'SUCCESS',
      quote: { pay: usd('16.15') },
      decisions: [
        { by: 'olga', covers: { pay: usd('14.11'), fee: usd('0.07') } },
        { by: 'piet', seen: { pay: usd('16.15') }, covers: { pay: usd('16.15'), fee: usd('0.77') } },
      ],
    });
    expect(createsOf(world, ref).map(({ lockRateId }) => lockRateId)).toEqual([result.quote?.lockRateId]);
  });

  test.each([
    ['within', '7.1000', 'SUCCESS', usd('14.15')],
    ['beyond', '7.0000', 'CANCELLED', undefined],
  ])('H222 a quote %s the tolerance of the approver', async (_where, rate, end, pay) => {
    const { ref } = await waiting(undefined);
    world.simulator.control.changeSettings({ rates: { ...asFound.rates, 'USD/CNY': rate } });
    await world.payouts.approve(ref, { by: 'olga', tolerance: '1' });
    const state = await world.until(
      ref,
      ({ phase, quote }) =>
        phase === 'DONE' || (phase === 'AWAITING_APPROVAL' && quote?.exchangeRate === rate),
    );
    expect(state.decisions).toMatchObject([
      { tolerance: '1', seen: { pay: usd('14.11') }, covers: { pay: usd('14.25'), fee: usd('0.07') } },
    ]);
    if (state.phase !== 'DONE') await world.payouts.cancel(ref, { by: 'olga' });
    const { outcome, reason, quote } = await world.payouts.result(ref);
    expect(reason?.code ?? outcome).toBe(end);
    if (pay) expect(quote?.pay).toEqual(pay);
    expect(createsOf(world, ref).length).toBe(pay ? 1 : 0);
  });

  test('a better quote is paid without another approval', async () => {
    const { ref, quote } = await waiting(undefined);
    world.simulator.control.changeSettings({ feeRate: '0.001' });
    await world.payouts.approve(ref, { by: 'olga' });
    const result = await world.payouts.result(ref);
    expect(result).toMatchObject({ outcome: 'SUCCESS', quote: { fee: usd('0.01') } });
    expect(result.quote?.lockRateId).not.toBe(quote?.lockRateId);
  });

  test.each(['10', '-1', '1%', '0.001', ''])('the tolerance %j is refused', async (tolerance) => {
    const { ref } = await waiting(undefined);
    await expect(world.payouts.approve(ref, { by: 'olga', tolerance })).rejects.toMatchObject({
      cause: { type: 'NotAcceptedNow', message: expect.stringMatching(/^tolerance: must be/) },
    });
    await world.payouts.cancel(ref, { by: 'olga' });
  });
});
