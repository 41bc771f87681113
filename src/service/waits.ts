/** Holds reads until the end of their workflow, for a limited number of requests. */
import type { WaitOptions } from '../client/steering.ts';
import type { Caller } from '../config/callers.ts';
import { Shares } from './shares.ts';

/** Each costs Temporal one long poll. Proxies often allow a hundred concurrent requests per connection to Temporal. */
const MAX_WAITS = 100;

/** Thrown if the caller has disconnected. Needs no response. */
export class CallerGoneError extends Error {
  override readonly name = 'CallerGoneError';
}

/** Until the end, or for so long. */
export interface Waiting {
  /** Milliseconds. Absent or zero: not at all. */
  forMs: number | undefined;
  /** Aborted with `CallerGoneError` when the caller disconnects. */
  gone: AbortSignal;
}

export class Waits {
  private readonly closing = new AbortController();
  /** Aborted by `close`. */
  readonly closed = this.closing.signal;
  private readonly shares = new Shares(MAX_WAITS, 'too many requests wait for an end: read without wait');

  /**
   * Resolves at the end, after the time, or when the server closes. Rejects with a 503 if the caller has its share of waits,
   * and with the reason of `gone`.
   */
  async until(
    caller: Caller,
    waiting: Waiting | undefined,
    end: (options: WaitOptions) => Promise<void>,
  ): Promise<void> {
    if (!waiting?.forMs || this.closing.signal.aborted) return;
    const { forMs, gone } = waiting;
    const signal = AbortSignal.any([gone, this.closing.signal]);
    try {
      await this.shares.run(caller.name, () => end({ timeoutMs: forMs, signal }));
    } catch (error) {
      gone.throwIfAborted();
      if (!this.closing.signal.aborted) throw error;
    }
  }

  /** Ends every wait: its request returns the current state. */
  close(): void {
    this.closing.abort();
  }
}
