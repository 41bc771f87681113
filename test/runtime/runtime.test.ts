import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { repeat, sleep } from '../../src/runtime/runtime.ts';
import { FakeClock } from '../support/fake-clock.ts';

/** The state of the work so far. */
function watched(work: Promise<void>) {
  const seen: { end: unknown } = { end: 'open' };
  work.then(
    () => {
      seen.end = 'over';
    },
    (reason: unknown) => {
      seen.end = reason;
    },
  );
  return seen;
}

describe('a sleep', () => {
  test('ends when its time has come, and not before', async () => {
    const clock = new FakeClock();
    const seen = watched(sleep(clock, 100));
    await clock.advance(99);
    expect(seen.end).toBe('open');
    await clock.advance(1);
    expect(seen.end).toBe('over');
  });

  test('ends with the reason of its signal, and leaves no timer', async () => {
    const clock = new FakeClock();
    const stop = new AbortController();
    const seen = watched(sleep(clock, 100, stop.signal));
    stop.abort('a shutdown');
    await clock.advance(0);
    expect([seen.end, clock.timersSet]).toEqual(['a shutdown', 0]);
  });

  test('does not start when its signal has already aborted', async () => {
    const clock = new FakeClock();
    await expect(sleep(clock, 100, AbortSignal.abort('a shutdown'))).rejects.toBe('a shutdown');
    expect(clock.timersSet).toBe(0);
  });

  test('leaves no listener on its signal, which may live as long as the process', async () => {
    const clock = new FakeClock();
    const { signal } = new AbortController();
    await clock.until(sleep(clock, 100, signal));
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('a repeated task', () => {
  test('runs after one interval, and then after each', async () => {
    const clock = new FakeClock();
    const times: number[] = [];
    const beganMs = clock.nowMs();
    const stop = repeat(clock, 10, () => times.push(clock.nowMs() - beganMs));
    await clock.advance(35);
    expect(times).toEqual([10, 20, 30]);
    stop();
    await clock.advance(100);
    expect([times.length, clock.timersSet]).toEqual([3, 0]);
  });

  test('can stop itself', async () => {
    const clock = new FakeClock();
    let times = 0;
    const stop = repeat(clock, 10, () => {
      times += 1;
      stop();
    });
    await clock.advance(100);
    expect([times, clock.timersSet]).toEqual([1, 0]);
  });

  test('continues after an iteration that threw', () => {
    const due: (() => void)[] = [];
    const clock = {
      nowMs: () => 0,
      wallMs: () => 0,
      after: (_ms: number, run: () => void) => {
        due.push(run);
        return () => {};
      },
    };
    repeat(clock, 10, () => {
      throw new Error('this time');
    });
    expect(() => due.shift()?.()).toThrow('this time');
    expect(due).toHaveLength(1);
  });
});
