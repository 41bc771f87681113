/**
 * What the simulator has around it: time and randomness. Everything in it reads them here, so that a simulation can give
 * it others. The simulator imports nothing from `src`; the surroundings of a process there fit these all the same.
 */
import { randomUUID } from 'node:crypto';

export interface Clock {
  /** Only goes forward: for every limit and lifetime. */
  nowMs(): number;
  /** The one that people read. */
  wallMs(): number;
  /** Calls `run` once, after `ms`. Answers how to call it off. */
  after(ms: number, run: () => void): () => void;
}

export interface Randomness {
  /** In [0, 1). */
  number(): number;
  uuid(): string;
}

export interface Surroundings {
  clock: Clock;
  random: Randomness;
}

/** Those of this very process. Its timers never keep it alive. */
export const PROCESS_SURROUNDINGS: Surroundings = {
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

/** An early end is the caller's business. */
export function sleep(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(delayMs, resolve);
  });
}

/** A fresh number of the service, well under the 64 characters that the spec allows. */
export function newId(random: Randomness, prefix: string): string {
  return `${prefix}${random.uuid().replaceAll('-', '')}`;
}

/** Timers that the simulator can drop all at once. */
export class Timers {
  readonly #clock: Clock;
  readonly #open = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  after(delayMs: number, act: () => void): void {
    const callOff = this.#clock.after(delayMs, () => {
      this.#open.delete(callOff);
      act();
    });
    this.#open.add(callOff);
  }

  clear(): void {
    for (const callOff of this.#open) callOff();
    this.#open.clear();
  }
}
