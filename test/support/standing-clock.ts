/** The monotonic clock of this process in the hand of a test: it stands still until the test moves it. */
import { onTestFinished, vi } from 'vitest';
import { PROCESS_SURROUNDINGS } from '../../src/surroundings/process.ts';
import type { Clock } from '../../src/surroundings/surroundings.ts';

/** Also what `performance.now()` says, everywhere in this process: the simulator of the provider reads that. */
export interface StandingClock extends Clock {
  advance(ms: number): void;
}

/** Timers go on as ever; until the test is over. */
export function standingClock(): StandingClock {
  // Whole milliseconds add up exactly.
  let nowMs = Math.ceil(performance.now());
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  onTestFinished(() => clock.mockRestore());
  return {
    ...PROCESS_SURROUNDINGS.clock,
    nowMs: () => nowMs,
    advance: (ms) => {
      nowMs += ms;
    },
  };
}
