/**
 * One application's call budget, kept by one process: calls leave evenly spaced, and never more than the
 * limit in any sliding second. The service counts arrivals, so a margin covers the jitter of the way there.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { CallGate } from '../payments/index.ts';

const WINDOW_MS = 1_000;
const MARGIN_MS = 20;

type GatedCall = Parameters<CallGate['pass']>[0];

export class CallBudget implements CallGate {
  private readonly callsPerSecond: number;
  private readonly recent: number[] = [];
  private queue: Promise<void> = Promise.resolve();

  constructor(callsPerSecond: number) {
    this.callsPerSecond = callsPerSecond;
  }

  /** Resolves when the call may leave. Rejects with the signal's reason when it is aborted while waiting. */
  pass({ signal }: GatedCall): Promise<void> {
    const turn = this.queue.then(() => this.wait(signal));
    // One call that gives up must not hold up the next.
    this.queue = turn.catch(() => undefined);
    return turn;
  }

  private async wait(signal: AbortSignal | undefined): Promise<void> {
    for (let left = this.msUntilFree(); left > 0; left = this.msUntilFree())
      await sleep(left, undefined, signal ? { signal } : {});
    this.recent.push(performance.now());
    if (this.recent.length > this.callsPerSecond) this.recent.shift();
  }

  /** Timers fire early by a fraction of a millisecond, so the clock is read again after each wait. */
  private msUntilFree(): number {
    const last = this.recent.at(-1);
    if (last === undefined) return 0;
    const evenly = last + (WINDOW_MS + MARGIN_MS) / this.callsPerSecond;
    const oldest = this.recent.length < this.callsPerSecond ? undefined : this.recent[0];
    const window = oldest === undefined ? 0 : oldest + WINDOW_MS + MARGIN_MS;
    return Math.ceil(Math.max(evenly, window) - performance.now());
  }
}
