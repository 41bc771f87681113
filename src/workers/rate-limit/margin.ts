/**
 * How much later than round trips prove a call may arrive: for what they do not show, such as a packet that was lost on
 * one connection, or a fastest round trip that could have been faster. A 429 widens it.
 */

const LEAST_MS = 10;
const MOST_MS = 60;
const FIRST_MS = 15;
const WIDER_ON_429_MS = 15;
/** By 1 ms. What a 429 has taught is forgotten much more slowly than what was assumed to begin with. */
const SHRINKS_EVERY_MS = 4_000;
const FORGETS_EVERY_MS = 300_000;

export class AdaptiveMargin {
  private learnedMs = FIRST_MS;
  private shrinksEveryMs = SHRINKS_EVERY_MS;
  private changedAtMs: number;

  constructor(nowMs: number) {
    this.changedAtMs = nowMs;
  }

  /** Takes over what the previous owner has learned. */
  start(nowMs: number, learnedMs: number | undefined): void {
    if (learnedMs !== undefined && Number.isFinite(learnedMs)) this.learn(learnedMs, nowMs);
    this.changedAtMs = nowMs;
  }

  /** The provider says that it was too much. */
  widen(nowMs: number): void {
    this.learn(this.valueMs(nowMs) + WIDER_ON_429_MS, nowMs);
    this.shrinksEveryMs = FORGETS_EVERY_MS;
  }

  valueMs(nowMs: number): number {
    return within(this.learnedMs - (nowMs - this.changedAtMs) / this.shrinksEveryMs);
  }

  private learn(ms: number, nowMs: number): void {
    this.learnedMs = within(ms);
    this.changedAtMs = nowMs;
    if (ms > FIRST_MS) this.shrinksEveryMs = FORGETS_EVERY_MS;
  }
}

function within(ms: number): number {
  return Math.min(MOST_MS, Math.max(LEAST_MS, ms));
}
