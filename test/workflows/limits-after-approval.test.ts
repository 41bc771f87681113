/** A lock expires while a payout waits for approval: the new quote must be within the caller's limits too. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { PayoutRequest } from '../../src/domain/payout.ts';
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

  test('with a new quote within the limits, it is paid at that quote', async () => {
    const limits = { maxPay: usd('20.00'), minRate: '6', maxFee: usd('2.00') };
    const { ref, quote } = await waiting(limits);
    dearer();
    await world.payouts.approve(ref, { by: 'olga' });
    const result = await world.payouts.result(ref);
    expect(result).toMatchObject({ outcome: 'SUCCESS', quote: { exchangeRate: '6.5000' } });
    const [create, ...more] = createsOf(world, ref);
    expect(more).toEqual([]);
    expect(create?.lockRateId).not.toBe(quote?.lockRateId);
    expect(create?.lockRateId).toBe(result.quote?.lockRateId);
  });
});
