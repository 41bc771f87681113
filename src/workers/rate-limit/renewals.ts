/** Renews the lease with calls whose answer is awaited: only an acknowledged renewal proves that it still counts. */
import {
  ActivityCancelledError,
  ActivityNotFoundError,
  ActivityPausedError,
  ActivityResetError,
  type Client,
} from '@temporalio/client';
import { LEASE_TIMEOUT_MS, type LeaseHeartbeat, RENEWAL_INTERVAL_MS } from '../../domain/rate-limit-lease.ts';
import { type Clock, repeat } from '../../surroundings/surroundings.ts';
import type { Fence } from './fence.ts';

/** Why a term ends. `lost`: another process may have the lease already. `given`: back, in good order. */
export type Ending = 'lost' | 'given';

export interface RenewalParts {
  client: Client;
  taskToken: Uint8Array;
  fence: Fence;
  clock: Clock;
  note: () => LeaseHeartbeat;
}

export class Renewals {
  private readonly parts: RenewalParts;
  private stopTimer: () => void = () => undefined;

  constructor(parts: RenewalParts) {
    this.parts = parts;
  }

  /** Resolves once Temporal has said that the lease is ours; rejects when it does not. */
  async confirm(): Promise<void> {
    await this.send(this.parts.note());
  }

  /** One that hangs does not hold up the next. Tells when the term is over; anything else is tried again. */
  start(over: (ending: Ending) => void): void {
    this.stopTimer = repeat(this.parts.clock, RENEWAL_INTERVAL_MS, () => {
      this.send(this.parts.note()).catch((error: unknown) => {
        if (error instanceof ActivityNotFoundError) over('lost');
        // Paused, reset or cancelled: whoever asked for it gets the lease back in good order.
        else if (isAsked(error)) over('given');
      });
    });
  }

  stop(): void {
    this.stopTimer();
  }

  private async send(note: LeaseHeartbeat): Promise<void> {
    const { client, taskToken, fence, clock } = this.parts;
    const sentAt = fence.now();
    const within = clock.wallMs() + LEASE_TIMEOUT_MS;
    await client.withDeadline(within, () => client.activity.heartbeat(taskToken, note));
    fence.renewed(sentAt);
  }
}

function isAsked(error: unknown): boolean {
  return (
    error instanceof ActivityCancelledError ||
    error instanceof ActivityPausedError ||
    error instanceof ActivityResetError
  );
}
