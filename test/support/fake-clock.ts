/** A clock that stands still until the test advances it. Between two timers, all pending work runs. */
import { AsyncResource } from 'node:async_hooks';
import { setImmediate as settled } from 'node:timers/promises';
import type { Clock } from '../../src/runtime/runtime.ts';

interface Timer {
  atMs: number;
  run: () => void;
}

/** Makes a mix-up of the two clocks visible. */
const WALL_AHEAD_MS = Date.UTC(2026, 0, 1);

export class FakeClock implements Clock {
  private timeMs = 1_000_000;
  private readonly timers = new Set<Timer>();

  nowMs(): number {
    return this.timeMs;
  }

  wallMs(): number {
    return WALL_AHEAD_MS + this.timeMs;
  }

  after(ms: number, run: () => void): () => void {
    const timer = { atMs: this.timeMs + ms, run: AsyncResource.bind(run) };
    this.timers.add(timer);
    return () => this.timers.delete(timer);
  }

  /** How many timers wait. */
  get timersSet(): number {
    return this.timers.size;
  }

  /** Runs every timer of the next `ms` milliseconds, in order. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.timeMs + ms;
    await settled();
    for (let next = this.next(); next && next.atMs <= untilMs; next = this.next()) await this.fire(next);
    this.timeMs = untilMs;
    await settled();
  }

  /** Advances from timer to timer until the work is done. Returns how long that took. */
  async until(work: Promise<unknown>): Promise<number> {
    const begun = this.timeMs;
    let done = false;
    const end = () => {
      done = true;
    };
    work.then(end, end);
    await settled();
    while (!done) {
      const next = this.next();
      if (!next) throw new Error('nothing will ever happen');
      await this.fire(next);
    }
    await work;
    return this.timeMs - begun;
  }

  private async fire(timer: Timer): Promise<void> {
    this.timers.delete(timer);
    this.timeMs = Math.max(this.timeMs, timer.atMs);
    timer.run();
    await settled();
  }

  private next(): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.timers) if (!first || timer.atMs < first.atMs) first = timer;
    return first;
  }
}
