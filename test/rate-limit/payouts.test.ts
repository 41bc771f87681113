import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { VirtualWorld } from '../support/virtual-world.ts';
import { expectAtMost } from '../support/workers.ts';

describe('H37 payouts against a provider that enforces 20 calls in any second', () => {
  let world: VirtualWorld;
  beforeAll(async () => {
    world = await VirtualWorld.start({
      settings: { callsPerSecond: 20, answersAfterMs: [20, 60] },
      env: { PAYMENTS_CALLS_PER_SECOND: '20' },
    });
  });
  afterAll(() => world.stop());

  test('twelve concurrent payouts, polls and token included, get no 429', async () => {
    const refs = await Promise.all(Array.from({ length: 12 }, () => world.pay('success final=0s')));
    const results = await Promise.all(refs.map((ref) => world.payouts.result(ref)));
    expect(results.map(({ outcome }) => outcome)).toEqual(refs.map(() => 'SUCCESS'));
    expectAtMost(world, 20);
  });
});
