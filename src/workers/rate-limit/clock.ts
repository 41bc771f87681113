/** The time, as the rate limit sees it. Tests use a clock that they advance themselves. */
import { performance } from 'node:perf_hooks';

export interface Clock {
  /** Monotonic. */
  nowMs(): number;
  /** By the wall: a machine that was suspended may have stopped the monotonic clock. */
  wallMs(): number;
  /** Calls `run` once, not before `ms` have passed. Answers how to call it off. */
  after(ms: number, run: () => void): () => void;
}

export const PROCESS_CLOCK: Clock = {
  nowMs: () => performance.now(),
  wallMs: () => Date.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};
