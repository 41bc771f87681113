import { expect, test } from 'vitest';
import { reconciledPayouts } from '../support/listed-payouts.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const DAY_MS = 24 * 3_600_000;

test('H262 a day of 345,000 payouts is reconciled, followed and reported within 30 lists a second', async () => {
  const world = await VirtualWorld.start({ schedules: true });
  const { followed, requests, mostPerSecond, reported } = await reconciledPayouts(world, 345_000, DAY_MS);
  await world.stop();
  // The figures of docs/scaling.md are those of an hour at this rate.
  console.info(JSON.stringify({ requests, mostPerSecond, reported }));
  expect([followed, reported.payouts]).toEqual([345_000, 345_000]);
  expect(mostPerSecond).toBeLessThanOrEqual(30);
  expect(requests).toBeLessThan(10_000);
  expect(reported.requests).toBeLessThan(1_000);
});
