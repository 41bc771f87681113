/** The parameter `wait` of reads: holds a request until the end of its workflow, for a limited number of requests. */
import { z } from 'zod';
import type { WaitOptions } from '../../client/until-end.ts';
import { unavailable } from './problem.ts';

/** Each costs Temporal one long poll. Proxies often allow a hundred concurrent requests per connection to Temporal. */
const MAX_WAITS = 100;

/** Parsed to milliseconds. */
export const wait = z
  .string()
  .regex(/^([0-9]|[1-5][0-9]|60)s$/, 'must be a number of seconds from 0s to 60s')
  .transform((text) => Number.parseInt(text, 10) * 1_000)
  .optional()
  .describe('answers at the end, or after this time with the current state: 0s to 60s');

/** Thrown if the caller has disconnected. Needs no response. */
export class CallerGoneError extends Error {
  override readonly name = 'CallerGoneError';
}

export class Waits {
  private readonly closing = new AbortController();
  private open = 0;

  /**
   * Resolves at the end, after `waitMs`, or when the server closes. Rejects with a 503 if too many requests wait, and with
   * the reason of `caller`.
   */
  async until(
    waitMs: number | undefined,
    caller: AbortSignal,
    end: (options: WaitOptions) => Promise<void>,
  ): Promise<void> {
    if (!waitMs || this.closing.signal.aborted) return;
    if (this.open >= MAX_WAITS)
      throw unavailable('too-many-waiting', 'too many requests wait for an end: read without wait');
    this.open += 1;
    try {
      await end({ timeoutMs: waitMs, signal: AbortSignal.any([caller, this.closing.signal]) });
    } catch (error) {
      caller.throwIfAborted();
      if (!this.closing.signal.aborted) throw error;
    } finally {
      this.open -= 1;
    }
  }

  /** Ends every wait, so that its request is answered with the current state. */
  close(): void {
    this.closing.abort();
  }
}
