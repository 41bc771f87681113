/** The monotonic clock of this process under control of the test: it stands still until the test moves it. */
import { onTestFinished, vi } from 'vitest';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import type { Clock } from '../../src/runtime/runtime.ts';

/** Replaces `performance.now()` everywhere in this process, because the simulator of the provider reads that. */
export interface StandingClock extends Clock {
  advance(ms: number): void;
}

/** Timers run as usual. Lasts until the test is over. */
export function standingClock(): StandingClock {
  // Whole milliseconds add up exactly.
  let nowMs = Math.ceil(performance.now());
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  onTestFinished(() => clock.mockRestore());
  return {
    ...PROCESS_RUNTIME.clock,
    nowMs: () => nowMs,
    advance: (ms) => {
      nowMs += ms;
    },
  };
}
