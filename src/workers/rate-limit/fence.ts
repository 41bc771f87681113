/**
 * Whether the lease still counts, answered from this process's own clocks at any moment. Only renewals that
 * Temporal has acknowledged make it count, from the moment they were sent.
 */
import { RENEWAL_VALID_MS } from '../../domain/rate-limit-lease.ts';
import type { Clock } from '../../surroundings/surroundings.ts';

/** When something happened, by both clocks: a suspended machine may stop the monotonic one. */
export interface Moment {
  monotonicMs: number;
  wallMs: number;
}

export class Fence {
  private readonly clock: Clock;
  private renewedAt: Moment | undefined;
  private lost = false;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  now(): Moment {
    return { monotonicMs: this.clock.nowMs(), wallMs: this.clock.wallMs() };
  }

  /** A renewal was acknowledged that was sent at this moment. */
  renewed(sentAt: Moment): void {
    if (this.renewedAt && sentAt.monotonicMs < this.renewedAt.monotonicMs) return;
    this.renewedAt = sentAt;
  }

  /** For good: this term is over. */
  lose(): void {
    this.lost = true;
  }

  counts(): boolean {
    if (this.lost || !this.renewedAt) return false;
    const now = this.now();
    return (
      now.monotonicMs - this.renewedAt.monotonicMs < RENEWAL_VALID_MS &&
      now.wallMs - this.renewedAt.wallMs < RENEWAL_VALID_MS
    );
  }
}
