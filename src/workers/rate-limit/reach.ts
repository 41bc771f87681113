/** Whether this process's calls reach the provider: its egress may be down, or its address not allowed. */

/** Fewer failures may be a coincidence. */
const MIN_FAILURES = 3;

export class Reach {
  reached = false;
  private failures = 0;
  private firstStartMs = Number.POSITIVE_INFINITY;

  begin(): void {
    this.reached = false;
    this.forgetFailures();
  }

  /** Any answer proves that calls arrive. */
  answered(): void {
    this.reached = true;
    this.forgetFailures();
  }

  /** A call that started at `startMs` got no connection or no answer. */
  failed(startMs: number): void {
    this.failures += 1;
    this.firstStartMs = Math.min(this.firstStartMs, startMs);
  }

  /** How long all calls have failed; zero if there are too few failures. */
  unreachedMs(nowMs: number): number {
    return this.failures < MIN_FAILURES ? 0 : nowMs - this.firstStartMs;
  }

  private forgetFailures(): void {
    this.failures = 0;
    this.firstStartMs = Number.POSITIVE_INFINITY;
  }
}
