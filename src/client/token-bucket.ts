/** So many at once, and then so many a second. */
export class TokenBucket {
  private readonly perSecond: number;
  private readonly most: number;
  private readonly nowMs: () => number;
  private left: number;
  private filledAtMs: number;

  constructor(perSecond: number, most: number, nowMs: () => number = () => performance.now()) {
    this.perSecond = perSecond;
    this.most = most;
    this.nowMs = nowMs;
    this.left = most;
    this.filledAtMs = nowMs();
  }

  /** False: not now. */
  take(): boolean {
    const now = this.nowMs();
    this.left = Math.min(this.most, this.left + ((now - this.filledAtMs) / 1_000) * this.perSecond);
    this.filledAtMs = now;
    if (this.left < 1) return false;
    this.left -= 1;
    return true;
  }
}
