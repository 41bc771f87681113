/** The monotonic clock of this process in the hand of a test: it stands still until the test moves it. */
import { onTestFinished, vi } from 'vitest';

export interface StandingClock {
  /** As `performance.now()` says it, everywhere in this process. */
  now(): number;
  advance(ms: number): void;
}

/** Timers go on as ever; until the test is over. */
export function standingClock(): StandingClock {
  // Whole milliseconds add up exactly.
  let nowMs = Math.ceil(performance.now());
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  onTestFinished(() => clock.mockRestore());
  return {
    now: () => nowMs,
    advance: (ms) => {
      nowMs += ms;
    },
  };
}
