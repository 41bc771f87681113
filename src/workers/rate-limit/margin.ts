/** How much later than round trips prove a call may arrive, because of lost packets for example. A 429 widens it. */

const MIN_MS = 10;
const MAX_MS = 60;
const INITIAL_MS = 15;
const WIDENING_MS = 15;
/** The margin shrinks by 1 ms in this time: much more slowly after a 429 than from the initial value. */
const SHRINKS_EVERY_MS = 4_000;
const SHRINKS_EVERY_MS_AFTER_429 = 300_000;

export class AdaptiveMargin {
  private learnedMs = INITIAL_MS;
  private shrinksEveryMs = SHRINKS_EVERY_MS;
  private changedAtMs: number;

  constructor(nowMs: number) {
    this.changedAtMs = nowMs;
  }

  /** Begins a term, with the margin of the previous owner if it is known. */
  start(nowMs: number, learnedMs: number | undefined): void {
    if (learnedMs !== undefined && Number.isFinite(learnedMs)) this.learn(learnedMs, nowMs);
    this.changedAtMs = nowMs;
  }

  widen(nowMs: number): void {
    this.learn(this.valueMs(nowMs) + WIDENING_MS, nowMs);
    this.shrinksEveryMs = SHRINKS_EVERY_MS_AFTER_429;
  }

  valueMs(nowMs: number): number {
    return clamp(this.learnedMs - (nowMs - this.changedAtMs) / this.shrinksEveryMs);
  }

  private learn(ms: number, nowMs: number): void {
    this.learnedMs = clamp(ms);
    this.changedAtMs = nowMs;
    if (ms > INITIAL_MS) this.shrinksEveryMs = SHRINKS_EVERY_MS_AFTER_429;
  }
}

function clamp(ms: number): number {
  return Math.min(MAX_MS, Math.max(MIN_MS, ms));
}
