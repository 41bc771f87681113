/**
 * Whether the lease still counts, answered from this process's own clocks at any moment. Only renewals that
 * Temporal has acknowledged make it count, from the moment they were sent.
 */
import { RENEWAL_COUNTS_MS } from '../../domain/rate-limit-lease.ts';

export class Fence {
  private sentAtMs = Number.NEGATIVE_INFINITY;
  /** A machine that was suspended may stop the monotonic clock; the wall clock then tells. */
  private sentAtWallMs = Number.NEGATIVE_INFINITY;
  private lost = false;

  /** `sentAtMs` by `performance.now()`, `sentAtWallMs` by `Date.now()`: when the acknowledged renewal was sent. */
  renewed(sentAtMs: number, sentAtWallMs: number): void {
    if (sentAtMs < this.sentAtMs) return;
    this.sentAtMs = sentAtMs;
    this.sentAtWallMs = sentAtWallMs;
  }

  /** For good: this term is over. */
  lose(): void {
    this.lost = true;
  }

  counts(): boolean {
    if (this.lost) return false;
    const wall = Date.now() - this.sentAtWallMs;
    return performance.now() - this.sentAtMs < RENEWAL_COUNTS_MS && wall < RENEWAL_COUNTS_MS;
  }
}
