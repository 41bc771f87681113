/** Renews the lease straight at the server, for only an answer proves that it still counts. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ActivityCancelledError,
  ActivityNotFoundError,
  ActivityPausedError,
  ActivityResetError,
  type Client,
} from '@temporalio/client';
import { LEASE_TIMEOUT_MS, type LeaseNote, RENEW_EVERY_MS } from '../../domain/call-budget-lease.ts';
import type { Fence } from './fence.ts';

/** Why a term ends. `lost`: it may be somebody else's already. `asked`: the workflow wants it back. */
export type Ending = 'lost' | 'asked';

const LATE_NOTE_MS = 200;

export interface RenewalParts {
  client: Client;
  taskToken: Uint8Array;
  fence: Fence;
  note: () => LeaseNote;
}

export class Renewals {
  private readonly parts: RenewalParts;
  private readonly underWay = new Set<Promise<void>>();
  private timer: NodeJS.Timeout | undefined;

  constructor(parts: RenewalParts) {
    this.parts = parts;
  }

  /** Resolves once Temporal has said that the lease is ours; rejects when it does not. */
  async confirm(): Promise<void> {
    await this.send(this.parts.note());
  }

  /** One that hangs does not hold up the next. Tells when the term is over; anything else is tried again. */
  start(over: (ending: Ending) => void): void {
    this.timer = setInterval(() => {
      this.send(this.parts.note()).catch((error: unknown) => {
        if (error instanceof ActivityNotFoundError) over('lost');
        // Paused, reset or cancelled: whoever asked for it gets the lease back in good order.
        else if (isAsked(error)) over('asked');
      });
    }, RENEW_EVERY_MS);
  }

  stop(): void {
    clearInterval(this.timer);
  }

  /** The last words, which the next attempt reads; an older note must not arrive after them. */
  async conclude(note: LeaseNote): Promise<void> {
    this.stop();
    await Promise.race([Promise.allSettled(this.underWay), sleep(LATE_NOTE_MS)]);
    await this.send(note).catch(() => undefined);
  }

  private send(note: LeaseNote): Promise<void> {
    const sending = this.sendNow(note).finally(() => this.underWay.delete(sending));
    this.underWay.add(sending);
    return sending;
  }

  private async sendNow(note: LeaseNote): Promise<void> {
    const { client, taskToken, fence } = this.parts;
    const sentAt = performance.now();
    const sentAtWall = Date.now();
    const within = Date.now() + LEASE_TIMEOUT_MS;
    await client.withDeadline(within, () => client.activity.heartbeat(taskToken, note));
    fence.renewed(sentAt, sentAtWall);
  }
}

function isAsked(error: unknown): boolean {
  return (
    error instanceof ActivityCancelledError ||
    error instanceof ActivityPausedError ||
    error instanceof ActivityResetError
  );
}
