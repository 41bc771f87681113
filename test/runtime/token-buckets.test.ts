import { describe, expect, test } from 'vitest';
import { networkOf } from '../../src/runtime/addresses.ts';
import { TokenBuckets } from '../../src/runtime/token-buckets.ts';
import { FakeClock } from '../support/fake-clock.ts';

describe('a token bucket', () => {
  test('grants a burst, then one token per refill time, to each key', async () => {
    const clock = new FakeClock();
    const buckets = new TokenBuckets({ burst: 3, refillMs: 6_000 }, clock);
    expect([1, 2, 3, 4].map(() => buckets.take('one'))).toEqual([true, true, true, false]);
    expect(buckets.waitMs('one')).toBe(6_000);
    expect(buckets.waitMs('other')).toBe(0);
    await clock.advance(5_999);
    expect(buckets.take('one')).toBe(false);
    await clock.advance(1);
    expect([buckets.take('one'), buckets.take('one')]).toEqual([true, false]);
  });

  test('takes a token back, and uses no memory for a full bucket', () => {
    const buckets = new TokenBuckets({ burst: 2, refillMs: 60_000 }, new FakeClock());
    expect([1, 2, 3].map(() => buckets.take('one'))).toEqual([true, true, false]);
    buckets.giveBack('one');
    expect([buckets.take('one'), buckets.take('one')]).toEqual([true, false]);
    for (let at = 0; at < 3; at += 1) buckets.giveBack('one');
    expect(buckets.size).toBe(0);
    expect([1, 2, 3].map(() => buckets.take('one'))).toEqual([true, true, false]);
  });

  test('uses bounded memory, and none once it is full', async () => {
    const clock = new FakeClock();
    const buckets = new TokenBuckets({ burst: 10, refillMs: 6_000 }, clock);
    for (let at = 0; at < 30_000; at += 1) buckets.take(`198.51.${at >> 8}.${at & 255}`);
    expect(buckets.size).toBeLessThanOrEqual(10_000);
    await clock.advance(60_000);
    buckets.take('192.0.2.1');
    expect(buckets.size).toBe(1);
  });
});

test.each([
  ['2001:db8:0:7::1', '2001:db8:0:7'],
  ['2001:0db8:0000:0007:ffff:ffff:ffff:ffff', '2001:db8:0:7'],
  ['::1', '0:0:0:0'],
  ['::ffff:10.0.0.1', '10.0.0.1'],
  ['10.0.0.1', '10.0.0.1'],
  ['x'.repeat(100), 'x'.repeat(64)],
])('the network of %s is %s', (address, network) => expect(networkOf(address)).toBe(network));
