/** How long a create of unknown outcome is confirmed, by the times that the server recorded. */
import { tsToMs } from '@temporalio/common/lib/time.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PayoutRef } from '../../src/client/payouts.ts';
import { activityTimeoutMs, sendWithinMs } from '../../src/domain/time.ts';
import { eventually } from '../support/eventually.ts';
import { createsOf } from '../support/ledger.ts';
import type { TestWorld } from '../support/test-world.ts';
import { startWorld } from '../support/world.ts';

const CALL_TIMEOUT_MS = 1_000;
const WINDOW_MS = 5_000;

let world: TestWorld;
beforeAll(async () => {
  world = await startWorld({
    env: {
      PAYMENTS_CALL_TIMEOUT: `${CALL_TIMEOUT_MS}ms`,
      PAYOUTS_CONFIRMATION_WINDOW: `${WINDOW_MS}ms`,
    },
  });
});
afterAll(() => world.stop());

/** From the end of the create to the phase `NEEDS_REVIEW`: the time that passed, and the timers in it. */
async function confirmed(ref: PayoutRef): Promise<{ elapsedMs: number; timersMs: number }> {
  const { events } = await world.history(ref);
  const all = events ?? [];
  const created = all.find(
    ({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.activityType?.name === 'createPayout',
  );
  const over = all.findIndex((event) => {
    const end =
      event.activityTaskFailedEventAttributes ??
      event.activityTaskTimedOutEventAttributes ??
      event.activityTaskCompletedEventAttributes;
    return end?.scheduledEventId?.equals(created?.eventId ?? 0);
  });
  const review = all.findIndex(({ upsertWorkflowSearchAttributesEventAttributes: upsert }) => {
    const phase = upsert?.searchAttributes?.indexedFields?.['PayoutPhase']?.data;
    return Buffer.from(phase ?? [])
      .toString()
      .includes('NEEDS_REVIEW');
  });
  expect([over, review]).not.toContain(-1);
  const timers = all
    .slice(over, review)
    .map(({ timerStartedEventAttributes: timer }) => timer?.startToFireTimeout);
  return {
    elapsedMs: tsToMs(all[review]?.eventTime) - tsToMs(all[over]?.eventTime),
    timersMs: timers.reduce((sum, timeout) => sum + (timeout ? tsToMs(timeout) : 0), 0),
  };
}

describe('the confirmation window', () => {
  test('H2 lasts as configured, from the end of the deadline of the create', async () => {
    const ref = await world.payWithFault({ kind: 'drop-before' }, 'success');
    // Read without a query.
    await eventually(async () => (await phaseShown(ref)) === 'NEEDS_REVIEW' || undefined);
    const { elapsedMs, timersMs } = await confirmed(ref);
    const whole = activityTimeoutMs(CALL_TIMEOUT_MS) + WINDOW_MS;
    expect(elapsedMs).toBeGreaterThanOrEqual(whole);
    // On any machine, the waits that the workflow chose are no longer than this.
    expect(timersMs).toBeLessThanOrEqual(whole);
    expect(createsOf(world, ref).length).toBe(1);
  });

  test.each([1, 1_000, 20_000, 60_000])(
    'a call of at most %d ms fits into the deadline of the create',
    (call) => {
      expect(sendWithinMs(call) + call).toBeLessThanOrEqual(activityTimeoutMs(call));
      expect(sendWithinMs(call)).toBeGreaterThan(call);
    },
  );
});

async function phaseShown(ref: PayoutRef): Promise<unknown> {
  const { searchAttributes } = await world.payouts.handle(ref).describe();
  return searchAttributes['PayoutPhase']?.[0];
}
