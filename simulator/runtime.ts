/**
 * The clock and randomness of the simulator. Nothing in it reads them elsewhere, so that a simulation can replace them.
 * The simulator imports nothing from `src`, but the runtime of `src` satisfies these types.
 */
import { randomUUID } from 'node:crypto';

export interface Clock {
  /** Monotonic: for limits and lifetimes. */
  nowMs(): number;
  /** Wall clock: for timestamps. */
  wallMs(): number;
  /** Calls `run` once, after `ms`. Returns a function that cancels the timer. */
  after(ms: number, run: () => void): () => void;
}

export interface Randomness {
  /** In [0, 1). */
  number(): number;
  uuid(): string;
}

export interface Runtime {
  clock: Clock;
  random: Randomness;
}

/** The real clock and randomness of this process. The timers do not keep the process alive. */
export const PROCESS_SURROUNDINGS: Runtime = {
  clock: {
    nowMs: () => performance.now(),
    wallMs: () => Date.now(),
    after: (ms, run) => {
      const timer = setTimeout(run, ms);
      timer.unref();
      return () => clearTimeout(timer);
    },
  },
  random: {
    number: () => Math.random(),
    uuid: () => randomUUID(),
  },
};

export function isoTime(atWallMs: number): string {
  return new Date(atWallMs).toISOString();
}

export function sleep(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(delayMs, resolve);
  });
}

/** A new id, well under the 64 characters that the spec allows. */
export function newId(random: Randomness, prefix: string): string {
  return `${prefix}${random.uuid().replaceAll('-', '')}`;
}

/** Timers that can be cleared together. */
export class Timers {
  readonly #clock: Clock;
  readonly #open = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  after(delayMs: number, act: () => void): void {
    const cancelTimer = this.#clock.after(delayMs, () => {
      this.#open.delete(cancelTimer);
      act();
    });
    this.#open.add(cancelTimer);
  }

  clear(): void {
    for (const cancelTimer of this.#open) cancelTimer();
    this.#open.clear();
  }
}
