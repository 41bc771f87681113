/**
 * The clock and randomness of the simulator. Nothing in it reads them elsewhere, so that a simulation can replace them. The
 * simulator imports nothing from `src`, but the runtime of `src` satisfies these types. Seeded randomness gives the same numbers
 * on every machine and in every run.
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
export const PROCESS_RUNTIME: Runtime = {
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

/** Numbers in [0, 1). */
export type Random = () => number;

/** Mulberry32. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** FNV-1a: a seed per name, so that draws for one order do not depend on calls about others. */
export function seedOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

export function chance(random: Random, probability: number): boolean {
  return random() < probability;
}

/** An integer from `least` to `most`, both included. */
export function whole(random: Random, least: number, most: number): number {
  return least + Math.floor(random() * (most - least + 1));
}

export function pick<T>(random: Random, list: readonly [T, ...T[]]): T;
export function pick<T>(random: Random, list: readonly T[]): T | undefined;
export function pick<T>(random: Random, list: readonly T[]): T | undefined {
  return list[Math.floor(random() * list.length)];
}

/** Picks a name with a probability proportional to its weight. */
export function pickWeighted<Name extends string>(
  random: Random,
  weights: readonly (readonly [Name, number])[],
): Name {
  let at = random() * weights.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [name, weight] of weights) {
    at -= weight;
    if (at < 0) return name;
  }
  throw new Error('there is nothing to pick from');
}
