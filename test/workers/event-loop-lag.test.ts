import { expect, test } from 'vitest';
import type { Clock } from '../../src/runtime/runtime.ts';
import { EventLoopLag } from '../../src/workers/health.ts';

/** A clock whose timers fire when the test says so. */
function handClock() {
  let nowMs = 0;
  let pending: (() => void) | undefined;
  const clock: Clock = {
    nowMs: () => nowMs,
    wallMs: () => nowMs,
    after: (_ms, run) => {
      pending = run;
      return () => {
        pending = undefined;
      };
    },
  };
  const fireAfter = (ms: number) => {
    nowMs += ms;
    pending?.();
  };
  return { clock, fireAfter };
}

test('a process that was frozen once is not stuck; one whose timers stay late is, until they recover', () => {
  const { clock, fireAfter } = handClock();
  const lag = new EventLoopLag(clock);
  for (let count = 0; count < 20; count += 1) fireAfter(1_000);
  fireAfter(60_000);
  expect(lag.isStuck).toBe(false);
  for (let count = 0; count < 9; count += 1) fireAfter(3_000);
  expect(lag.isStuck).toBe(true);
  fireAfter(1_000);
  expect(lag.isStuck).toBe(false);
  lag.stop();
});
