import { expect, test } from 'vitest';
import { reconciledPayouts } from '../support/listed-payouts.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const HOUR_MS = 3_600_000;
const PER_HOUR = 345_000 / 24;
/** A whole day, 24, takes seven minutes of computing. */
const HOURS = 1;

test('H262 payouts at 345,000 a day are reconciled, followed and reported within 30 lists a second', async () => {
  const world = await VirtualWorld.start({ schedules: true });
  const payouts = PER_HOUR * HOURS;
  const { followed, requests, mostPerSecond, reported } = await reconciledPayouts(
    world,
    payouts,
    HOURS * HOUR_MS,
  );
  await world.stop();
  // The figures of docs/scaling.md are those of a day.
  console.info(JSON.stringify({ requests, mostPerSecond, reported }));
  expect([followed, reported.payouts]).toEqual([payouts, payouts]);
  expect(mostPerSecond).toBeLessThanOrEqual(30);
  expect(requests).toBeLessThan(400 * HOURS);
  expect(reported.requests).toBeLessThan(45 * HOURS);
});
