/** Whether the event loop of this process keeps up: a timer that is late by more than a second, again and again, says no. */
import { type Clock, repeat } from '../runtime/runtime.ts';

const SAMPLE_EVERY_MS = 1_000;
const MAX_LATE_MS = 1_000;
/** A process that was frozen for a while is late once, and goes on. */
const SAMPLES = 10;

export class EventLoopLag {
  private readonly lateMs: number[] = [];
  private readonly stopSampling: () => void;

  constructor(clock: Clock) {
    let dueMs = clock.nowMs() + SAMPLE_EVERY_MS;
    this.stopSampling = repeat(clock, SAMPLE_EVERY_MS, () => {
      const now = clock.nowMs();
      this.lateMs.push(now - dueMs);
      if (this.lateMs.length > SAMPLES) this.lateMs.shift();
      dueMs = now + SAMPLE_EVERY_MS;
    });
  }

  /** Whether every one of the last samples was late. */
  get isStuck(): boolean {
    return this.lateMs.length === SAMPLES && this.lateMs.every((ms) => ms > MAX_LATE_MS);
  }

  stop(): void {
    this.stopSampling();
  }
}
