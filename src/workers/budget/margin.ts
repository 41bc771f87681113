/**
 * How much longer than a second the window is kept. The service counts arrivals, and two calls may need different
 * times to arrive; how different cannot be measured from here, for answers hold the service's own time too. What can
 * be: how late this process's own timers are, which a loaded machine does to everything, and 429s.
 */

const LEAST_MS = 10;
const MOST_MS = 60;
const FIRST_MS = 30;
const WIDER_ON_429_MS = 15;
const SHRINKS_EVERY_MS = 20_000;
/** Weight of one more observation in the moving average. */
const WEIGHT = 0.1;

export class AdaptiveMargin {
  private learnedMs = FIRST_MS;
  private latenessMs = 0;
  private changedAtMs: number;

  constructor(nowMs: number) {
    this.changedAtMs = nowMs;
  }

  /** Takes over what the owner before has learned. */
  start(nowMs: number, learnedMs: number | undefined): void {
    if (learnedMs !== undefined && Number.isFinite(learnedMs)) this.learnedMs = within(learnedMs);
    this.changedAtMs = nowMs;
  }

  /** A timer fired this much later than asked for. */
  late(byMs: number): void {
    this.latenessMs += WEIGHT * (Math.min(MOST_MS, Math.max(0, byMs)) - this.latenessMs);
  }

  /** The service says that it was too much. */
  widen(nowMs: number): void {
    this.learnedMs = within(this.learned(nowMs) + WIDER_ON_429_MS);
    this.changedAtMs = nowMs;
  }

  /** What is passed on: without this machine's own lateness. */
  learned(nowMs: number): number {
    return within(this.learnedMs - (nowMs - this.changedAtMs) / SHRINKS_EVERY_MS);
  }

  valueMs(nowMs: number): number {
    return within(this.learned(nowMs) + 2 * this.latenessMs);
  }
}

function within(ms: number): number {
  return Math.min(MOST_MS, Math.max(LEAST_MS, ms));
}
