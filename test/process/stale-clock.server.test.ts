import { beforeAll, describe, expect, test } from 'vitest';
import { isStaleClock } from '../../src/temporal/client-errors.ts';
import { playStaleClocks, type Scene, TIMER_MS } from '../support/clock/scene.ts';

describe('H52 a worker dies, a timer fires, and a query comes before the next workflow task', () => {
  let [unguarded, guarded]: Scene[] = [];
  beforeAll(async () => {
    [unguarded, guarded] = await playStaleClocks();
  });

  test('without the guard, the workflow continues with the clock of the previous task, and never replays', () => {
    expect(unguarded?.elapsedMs).toBeLessThan(TIMER_MS);
    expect(unguarded?.replay?.message).toContain('TMPRL1100');
  });

  test('with the guard, the query fails with its own error, a later one succeeds, and the history replays', () => {
    const [first, second] = guarded?.answers ?? [];
    expect(isStaleClock(first)).toBe(true);
    expect(second).toBeGreaterThanOrEqual(TIMER_MS);
    expect(guarded?.elapsedMs).toBe(second);
    expect(guarded?.replay).toBeUndefined();
  });

  test('no workflow task fails because of it', () => {
    const failed = guarded?.history.events?.filter(
      ({ workflowTaskFailedEventAttributes: refused, workflowTaskTimedOutEventAttributes: late }) =>
        refused || (late && late.timeoutType !== SCHEDULE_TO_START),
    );
    expect(failed).toEqual([]);
  });
});

/** The timeout type of the task that waited for the dead worker. */
const SCHEDULE_TO_START = 2;
