/**
 * How much longer than a second the window is kept. The service counts arrivals, and two calls may need different
 * times to arrive; how different cannot be measured from here, for answers hold the service's own time too. What can
 * be: how late this process's own timers are, which a loaded machine does to everything, and 429s. Whoever knows the
 * network says so by a setting.
 */

const LEAST_MS = 15;
const MOST_MS = 60;
/** A process that has just begun, and all that waited for it, keep the machine busy: arrivals differ most then. */
const FIRST_MS = 30;
const WIDER_ON_429_MS = 15;
/** By 1 ms. What a 429 has taught is forgotten much more slowly than what was assumed to begin with. */
const SHRINKS_EVERY_MS = 4_000;
const FORGETS_EVERY_MS = 300_000;
/** On top of a jitter that is known: that of the processes themselves. */
const SPARE_MS = 10;
/** Weight of one more observation in the moving average. */
const WEIGHT = 0.1;

export class AdaptiveMargin {
  private readonly leastMs: number;
  private readonly mostMs: number;
  private learnedMs: number;
  private shrinksEveryMs = SHRINKS_EVERY_MS;
  private latenessMs = 0;
  private changedAtMs: number;

  /** `jitterMs`: by how much the times that calls need to arrive are known to differ. */
  constructor(nowMs: number, jitterMs = 0) {
    this.leastMs = Math.max(LEAST_MS, jitterMs === 0 ? 0 : jitterMs + SPARE_MS);
    this.mostMs = Math.max(MOST_MS, 2 * this.leastMs);
    this.learnedMs = Math.max(FIRST_MS, this.leastMs);
    this.changedAtMs = nowMs;
  }

  /** Takes over what the owner before has learned. */
  start(nowMs: number, learnedMs: number | undefined): void {
    if (learnedMs !== undefined && Number.isFinite(learnedMs)) this.learn(learnedMs, nowMs);
    this.changedAtMs = nowMs;
  }

  /** A timer fired this much later than asked for. */
  late(byMs: number): void {
    this.latenessMs += WEIGHT * (Math.min(MOST_MS, Math.max(0, byMs)) - this.latenessMs);
  }

  /** The service says that it was too much. */
  widen(nowMs: number): void {
    this.learn(this.learned(nowMs) + WIDER_ON_429_MS, nowMs);
    this.shrinksEveryMs = FORGETS_EVERY_MS;
  }

  /** What is passed on: without this machine's own lateness. */
  learned(nowMs: number): number {
    return this.within(this.learnedMs - (nowMs - this.changedAtMs) / this.shrinksEveryMs);
  }

  valueMs(nowMs: number): number {
    return this.within(this.learned(nowMs) + 2 * this.latenessMs);
  }

  private learn(ms: number, nowMs: number): void {
    this.learnedMs = this.within(ms);
    this.changedAtMs = nowMs;
    if (ms > FIRST_MS) this.shrinksEveryMs = FORGETS_EVERY_MS;
  }

  private within(ms: number): number {
    return Math.min(this.mostMs, Math.max(this.leastMs, ms));
  }
}
