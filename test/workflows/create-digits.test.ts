/** The amount in the body of the create as it arrives, character by character. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createsOf } from '../support/ledger.ts';
import type { TestWorld } from '../support/test-world.ts';
import { startWorld } from '../support/world.ts';

let world: TestWorld;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.stop());

describe('H14 the create carries the amount with every digit', () => {
  test.each([
    ['0.01', '0.01'],
    ['100', '100.00'],
    ['0.10', '0.10'],
    ['9007199254740993.01', '9007199254740993.01'],
    ['1234567890123456.78', '1234567890123456.78'],
    ['9999999999999999.99', '9999999999999999.99'],
  ])('%s is written as %s', async (asked, written) => {
    const ref = await world.pay('success', { instructedAmount: { currency: 'CNY', amount: asked } });
    const result = await world.payouts.result(ref);
    const [create, ...more] = createsOf(world, ref);
    expect(more).toEqual([]);
    expect(/"instructedAmount":\{[^}]*"amount":([^,}]*)/.exec(create?.body ?? '')?.[1]).toBe(written);
    expect(result).toMatchObject({ outcome: 'SUCCESS', received: { currency: 'CNY', amount: written } });
  });
});
