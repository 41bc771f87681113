import { type Clock, sleep } from './runtime.ts';

/** Spaces what a process does, such as requests: each waits for its turn. */
export class Pace {
  private readonly clock: Clock;
  private readonly everyMs: number;
  private nextMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, everyMs: number) {
    this.clock = clock;
    this.everyMs = everyMs;
  }

  async turn(): Promise<void> {
    const now = this.clock.nowMs();
    const atMs = Math.max(now, this.nextMs);
    this.nextMs = atMs + this.everyMs;
    if (atMs > now) await sleep(this.clock, atMs - now);
  }
}
