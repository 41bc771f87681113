import { beforeAll, describe, expect, test } from 'vitest';
import { isStaleClock } from '../../src/temporal/queries.ts';
import { type Played, playStaleClock, TIMER_MS } from '../support/clock/scene.ts';

describe('H52 a worker dies, a timer fires, and a query comes before the next workflow task', () => {
  let [unguarded, guarded]: Played[] = [];
  beforeAll(async () => {
    [unguarded, guarded] = await Promise.all([playStaleClock(false), playStaleClock(true)]);
  });

  test('without the guard the workflow goes on with the clock of the task before, and never replays', () => {
    expect(unguarded?.elapsedMs).toBeLessThan(TIMER_MS);
    expect(unguarded?.replay?.message).toContain('TMPRL1100');
  });

  test('with it the query fails once in its own way, the next one is answered, and the history replays', () => {
    const [first, second] = guarded?.answers ?? [];
    expect(isStaleClock(first)).toBe(true);
    expect(second).toBeGreaterThanOrEqual(TIMER_MS);
    expect(guarded?.elapsedMs).toBe(second);
    expect(guarded?.replay).toBeUndefined();
  });

  test('no workflow task fails for it', () => {
    const failed = guarded?.history.events?.filter(
      ({ workflowTaskFailedEventAttributes: refused, workflowTaskTimedOutEventAttributes: late }) =>
        refused || (late && late.timeoutType !== SCHEDULE_TO_START),
    );
    expect(failed).toEqual([]);
  });
});

/** Of the task that waited for the dead worker. */
const SCHEDULE_TO_START = 2;
