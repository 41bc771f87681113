/** The sends that a service may still be counting. Times are of one monotonic clock, in milliseconds. */

export class SendWindow {
  private sends: number[] = [];
  /** Calls that may leave at any moment: each takes a place until it has left, or will not. */
  private pending = 0;

  begin(): void {
    this.pending += 1;
  }

  /** One of those that began has left. */
  sent(atMs: number): void {
    this.pending -= 1;
    this.note(atMs);
  }

  /** One of those that began will not leave. */
  dropped(): void {
    this.pending -= 1;
  }

  /** A call that left earlier, perhaps from another process. */
  note(atMs: number): void {
    let index = this.sends.length;
    while (index > 0 && (this.sends[index - 1] ?? 0) > atMs) index -= 1;
    this.sends.splice(index, 0, atMs);
  }

  /**
   * Milliseconds until one more call may begin: then no window of `spanMs` can hold more than `limit` sends, whenever
   * the pending ones leave. Infinity: not before one of them has left or will not.
   */
  msUntilRoom(nowMs: number, limit: number, spanMs: number): number {
    this.forget(nowMs - spanMs);
    const over = this.sends.length + this.pending - limit;
    if (over < 0) return 0;
    const freed = this.sends[over];
    return freed === undefined ? Number.POSITIVE_INFINITY : Math.max(0, freed + spanMs - nowMs);
  }

  /** How long ago each call of the last `spanMs` left. */
  ages(nowMs: number, spanMs: number): number[] {
    return this.sends.filter((at) => at > nowMs - spanMs).map((at) => Math.max(0, nowMs - at));
  }

  private forget(beforeMs: number): void {
    const first = this.sends.findIndex((at) => at > beforeMs);
    this.sends = first === -1 ? [] : this.sends.slice(first);
  }
}
