import { setImmediate as settled } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { callSlots, pacedSlots, prefetchedCalls } from '../../src/workers/rate-limit/slots.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { openLimiter } from '../support/rate-limit.ts';

const CALLS_PER_SECOND = 20;
const RESERVE = {
  slotType: 'activity',
  taskQueue: '',
  workerIdentity: '',
  workerBuildId: '',
  isSticky: false,
} as const;

describe('an owner whose queues are empty sets no timers', () => {
  const { signal } = new AbortController();

  test('while every call that it may fetch is polled for, until one slot is released', async () => {
    const { limiter, clock } = openLimiter(CALLS_PER_SECOND);
    const slots = callSlots(limiter, 100, clock);
    const reserve = () => slots.reserveSlot(RESERVE, signal);
    const permits = await Promise.all(Array.from({ length: prefetchedCalls(CALLS_PER_SECOND) }, reserve));
    let isReserved = false;
    const next = reserve().then(() => {
      isReserved = true;
    });
    await settled();
    expect({ isReserved, timers: clock.timersSet }).toEqual({ isReserved: false, timers: 0 });
    for (const permit of permits.slice(0, 1)) slots.releaseSlot({ permit });
    await next;
  });

  test('while a paced queue has as many calls as it may have', async () => {
    const clock = new FakeClock();
    const slots = pacedSlots(1, 1_000, clock);
    await slots.reserveSlot(undefined, signal);
    const next = slots.reserveSlot(undefined, signal);
    await settled();
    expect(clock.timersSet).toBe(0);
    slots.releaseSlot();
    await next;
  });
});
