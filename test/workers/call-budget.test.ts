import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BUSY_MACHINE, mostInOneSecond, openBudget, send } from '../support/budget.ts';
import { PayoutWorld } from '../support/payout-world.ts';

describe('H37 the call budget of one process', () => {
  test('never lets more than the limit go in any sliding second, however many ask at once', async () => {
    const budget = openBudget(100);
    const times: number[] = [];
    await Promise.all(
      Array.from({ length: 350 }, async () => {
        await send(budget);
        times.push(performance.now());
      }),
    );
    expect(times.length).toBe(350);
    expect(mostInOneSecond(times)).toBeLessThanOrEqual(100);
  });

  test('spaces calls evenly instead of letting a burst go', async () => {
    const budget = openBudget(20);
    const times: number[] = [];
    for (let call = 0; call < 6; call += 1) {
      await send(budget);
      times.push(performance.now());
    }
    const gaps = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThan(40);
  });

  test('a call that gives up while it waits does not hold up the next', async () => {
    const budget = openBudget(1);
    await send(budget);
    const leaving = new AbortController();
    const gone = send(budget, 'tradeResult', leaving.signal);
    const next = send(budget);
    leaving.abort();
    await expect(gone).rejects.toThrow();
    await next;
  });
});

describe('H37 payouts against a service that counts 20 calls in any second', () => {
  let world: PayoutWorld;
  beforeAll(async () => {
    world = await PayoutWorld.start({
      settings: { callsPerSecond: 20 },
      env: { PAYMENTS_CALLS_PER_SECOND: '20', ...BUSY_MACHINE },
    });
  });
  afterAll(() => world.stop());

  test('twelve payouts at once, polls and token included: not one 429', async () => {
    const refs = await Promise.all(Array.from({ length: 12 }, () => world.pay('success final=0s')));
    const results = await Promise.all(refs.map((ref) => world.payouts.result(ref)));
    expect(results.map(({ outcome }) => outcome)).toEqual(refs.map(() => 'SUCCESS'));
    const { answered429, maxCallsInAnySecond } = world.simulator.control.counts();
    expect(answered429).toBe(0);
    expect(maxCallsInAnySecond).toBeLessThanOrEqual(20);
  });
});
