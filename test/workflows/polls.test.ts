import { tsToMs } from '@temporalio/common/lib/time.js';
import { expect, test } from 'vitest';
import type { CallRecord } from '../../simulator/index.ts';
import type { PayoutRef } from '../../src/client/payouts.ts';
import { eventually } from '../support/eventually.ts';
import { NO_POLLS, newPartnerOrderId, type TestWorld } from '../support/test-world.ts';
import { startWorld } from '../support/world.ts';

/** So slow that starting payouts use the whole rate limit for a while. */
const CALLS_PER_SECOND = 8;
/** Started twice: the second group starts once the poll has been promoted. */
const STARTING_PAYOUTS = 40;

test('H38 polls come last, but one that has waited too long runs among starting payouts', async () => {
  const world = await startWorld({
    env: { PAYMENTS_CALLS_PER_SECOND: `${CALLS_PER_SECOND}`, PAYOUTS_CALL_WAITS: '3s' },
    settings: { callsPerSecond: CALLS_PER_SECOND },
  });
  try {
    const ref = await world.pay('stuck');
    await world.until(ref, ({ phase }) => phase === 'PROCESSING');
    const calls = () => world.simulator.control.calls();
    const isOurs = ({ partnerOrderId }: CallRecord) => partnerOrderId === ref.partnerOrderId;
    const polls = () => calls().filter(isOurs).length;
    /** Its position among all calls. */
    const nthPoll = (nth: number) => calls().indexOf(calls().filter(isOurs)[nth - 1] ?? never());
    // Each has its own client, and no lock is accepted: two calls, and never a third with higher priority.
    const nothing = { limits: { maxPay: { currency: 'USD', amount: '0.01' } } };
    const begin = () =>
      Promise.all(
        Array.from({ length: STARTING_PAYOUTS }, () =>
          world.pay('success', { clientId: newPartnerOrderId(), ...nothing }),
        ),
      );
    let groups = 1;
    await begin();
    const begun = (until = calls().length) =>
      calls()
        .slice(0, until)
        .filter(({ operation }) => operation === 'accountQuery' || operation === 'fee').length;
    // By then no call that was taken from the queue earlier is in flight.
    await eventually(() => begun() > CALLS_PER_SECOND + 2 || undefined);
    await eventually(async () => {
      if (await isPromoted(world, ref)) return true;
      // On a slow machine, a group may be over before the poll has waited too long.
      if (begun() < 2 * groups * STARTING_PAYOUTS) return undefined;
      groups += 1;
      await begin();
      return undefined;
    });
    const before = polls();
    await begin();
    await eventually(() => polls() > before || undefined);
    // After the groups so far, and before nearly all of this one.
    expect(begun(nthPoll(before + 1))).toBeLessThan((2 * groups + 1) * STARTING_PAYOUTS);
    await world.simulator.control.changeOrder(ref.partnerOrderId, { status: 'SUCCESS' });
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
    expect((await world.payouts.state(ref)).reasons).toEqual([]);
  } finally {
    await world.stop();
  }
});

test('H18 polls are frequent while a final status contradicts the detail, and rare again afterwards', async () => {
  const world = await startWorld({ env: NO_POLLS });
  try {
    const ref = await world.pay('sums-wrong final=0s');
    await world.until(ref, ({ phase }) => phase === 'PROCESSING');
    await world.payouts.poll(ref);
    const nextPoll = () =>
      eventually(async () => {
        const events = await world.sinceLastCall(ref);
        const timer = events.find((event) => event.timerStartedEventAttributes);
        return timer && tsToMs(timer.timerStartedEventAttributes?.startToFireTimeout);
      });
    expect(await nextPoll()).toBeLessThan(60_000);
    world.simulator.control.changeOrder(ref.partnerOrderId, { status: 'PROCESSING' });
    // The first poll may be answered by a query that was already in flight.
    await world.payouts.poll(ref);
    await world.payouts.poll(ref);
    expect(await nextPoll()).toBeGreaterThan(30 * 60_000);
  } finally {
    await world.stop();
  }
});

function never(): never {
  throw new Error('there are fewer polls');
}

/** The call with the higher priority is in the queue. */
async function isPromoted(world: TestWorld, ref: PayoutRef): Promise<true | undefined> {
  const { events } = await world.history(ref);
  const ended = events?.findIndex((event) => event.activityTaskTimedOutEventAttributes) ?? -1;
  if (ended < 0) return undefined;
  return events?.slice(ended).some((event) => event.activityTaskScheduledEventAttributes) || undefined;
}
