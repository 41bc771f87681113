/** Whether the lease is valid: since the send of the last renewal that Temporal acknowledged, for a fixed time. */

import {
  ActivityCancelledError,
  ActivityNotFoundError,
  ActivityPausedError,
  ActivityResetError,
  type Client,
} from '@temporalio/client';
import {
  LEASE_TIMEOUT_MS,
  type LeaseHeartbeat,
  RENEWAL_INTERVAL_MS,
  RENEWAL_VALID_MS,
} from '../../domain/rate-limit.ts';
import { type Clock, repeat } from '../../runtime/runtime.ts';

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

/** Why a term ends. `lost`: another process may own the lease already. `released`: this process gives it back. */
export type Ending = 'lost' | 'released';

/** Someone paused, reset or canceled the activity. */
const RELEASE_REQUESTS = [ActivityCancelledError, ActivityPausedError, ActivityResetError];

interface RenewalParts {
  client: Client;
  taskToken: Uint8Array;
  fence: Fence;
  clock: Clock;
  heartbeat: () => LeaseHeartbeat;
}

/** Resolves when Temporal has acknowledged the lease; otherwise rejects. */
export async function renewLease(parts: RenewalParts): Promise<void> {
  const { client, taskToken, fence, clock, heartbeat } = parts;
  const sentAt = fence.now();
  const deadline = clock.wallMs() + LEASE_TIMEOUT_MS;
  const details = heartbeat();
  await client.withDeadline(deadline, () => client.activity.heartbeat(taskToken, details));
  fence.renewed(sentAt);
}

/**
 * Renews the lease with heartbeats that await Temporal's answer: only an acknowledged renewal is valid.
 * Renews the lease until the returned function is called. Calls `onEnd` when the term is over; retries errors.
 */
export function keepRenewing(parts: RenewalParts, onEnd: (ending: Ending) => void): () => void {
  return repeat(parts.clock, RENEWAL_INTERVAL_MS, () => {
    renewLease(parts).catch((error: unknown) => {
      if (error instanceof ActivityNotFoundError) onEnd('lost');
      else if (RELEASE_REQUESTS.some((request) => error instanceof request)) onEnd('released');
    });
  });
}
