/** Whether the lease is valid: since the send of the last renewal that Temporal acknowledged, for a fixed time. */
import { RENEWAL_VALID_MS } from '../../domain/rate-limit.ts';
import type { Clock } from '../../runtime/runtime.ts';

/** A time on both clocks, because the monotonic clock may stop while the machine is suspended. */
export interface Moment {
  monotonicMs: number;
  wallMs: number;
}

export class Fence {
  private readonly clock: Clock;
  private renewedAt: Moment | undefined;
  private isClosed = false;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  now(): Moment {
    return { monotonicMs: this.clock.nowMs(), wallMs: this.clock.wallMs() };
  }

  /** Temporal acknowledged a renewal that was sent at `sentAt`. */
  renewed(sentAt: Moment): void {
    if (this.renewedAt && sentAt.monotonicMs < this.renewedAt.monotonicMs) return;
    this.renewedAt = sentAt;
  }

  /** Ends the term. No later renewal reopens the fence. */
  close(): void {
    this.isClosed = true;
  }

  isValid(): boolean {
    if (this.isClosed || !this.renewedAt) return false;
    const now = this.now();
    return (
      now.monotonicMs - this.renewedAt.monotonicMs < RENEWAL_VALID_MS &&
      now.wallMs - this.renewedAt.wallMs < RENEWAL_VALID_MS
    );
  }
}
