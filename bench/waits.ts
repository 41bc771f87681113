/** Bounded waits: a part without progress fails with what it waited for. */
import { setTimeout as sleep } from 'node:timers/promises';

export type Say = (line: string) => void;

/** Thrown when a wait exceeds its limit. */
export class TimedOut extends Error {
  override readonly name = 'TimedOut';
}

const SAY_EVERY_MS = 10_000;
const MAX_AT_ONCE = 25;

export interface Wait {
  /** Such as `payouts ended`. */
  what: string;
  wanted: number;
  count: () => Promise<number>;
  limitMs: number;
  say: Say;
}

/** Waits until `count` returns at least `wanted`, checking about every second. */
export async function untilCounted({ what, wanted, count, limitMs, say }: Wait): Promise<void> {
  const begunMs = performance.now();
  let saidMs = begunMs;
  for (;;) {
    const now = await count();
    if (now >= wanted) return;
    if (performance.now() - begunMs > limitMs)
      throw new TimedOut(`${now} of ${wanted} ${what} after ${Math.round(limitMs / 1_000)} s`);
    if (performance.now() - saidMs > SAY_EVERY_MS) {
      say(`${now}/${wanted} ${what}`);
      saidMs = performance.now();
    }
    await sleep(1_000);
  }
}

/** Tries again until `look` returns a value. */
export async function untilFound<T>(
  what: string,
  limitMs: number,
  look: () => Promise<T | undefined>,
  everyMs = 100,
): Promise<T> {
  const begunMs = performance.now();
  for (;;) {
    const seen = await look();
    if (seen !== undefined) return seen;
    if (performance.now() - begunMs > limitMs) throw new TimedOut(`${what} within ${limitMs} ms`);
    await sleep(everyMs);
  }
}

/** Runs up to `atOnce` at once, started in the order of the list. */
export async function eachOf<T>(
  list: readonly T[],
  atOnce: number,
  work: (entry: T) => Promise<void>,
): Promise<void> {
  const left = list.values();
  const one = async () => {
    for (const entry of left) await work(entry);
  };
  await Promise.all(Array.from({ length: atOnce }, one));
}

/** Evenly over time; each starts whether or not earlier ones have ended, up to a bound. */
export async function steadily<T>(
  list: readonly T[],
  perSecond: number,
  work: (entry: T) => Promise<void>,
): Promise<void> {
  const begun = performance.now();
  await eachOf([...list.entries()], MAX_AT_ONCE, async ([at, entry]) => {
    await sleep(Math.max(0, begun + (at * 1_000) / perSecond - performance.now()));
    await work(entry);
  });
}
