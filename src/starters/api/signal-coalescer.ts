/**
 * Limits the signals to each workflow: one at a time, one per second, and the rate of a token bucket. Deliveries in between
 * share the next signal, which carries the latest content.
 */
import { type Clock, sleep } from '../../runtime/runtime.ts';
import { TokenBuckets } from '../../runtime/token-buckets.ts';

const SPACING_MS = 1_000;
/** More than an order has statuses. In days, unlimited signals would fill the history of an open payout. */
const SIGNALS = { burst: 20, refillMs: 60_000 };

/** Thrown if the workflow has received too many signals. Nothing was sent. */
export class TooManySignalsError extends Error {
  override readonly name = 'TooManySignalsError';
  readonly waitMs: number;
  constructor(waitMs: number) {
    super('too many signals to one workflow');
    this.waitMs = waitMs;
  }
}

interface Lane<T> {
  /** The signal that is waiting to be sent. */
  next: { content: T; sent: Promise<void> } | undefined;
  /** Resolves `SPACING_MS` after the last signal. */
  free: Promise<unknown>;
}

export class SignalCoalescer<T> {
  private readonly lanes = new Map<string, Lane<T>>();
  private readonly buckets: TokenBuckets;
  private readonly clock: Clock;
  private readonly send: (workflowId: string, content: T) => Promise<void>;

  constructor(clock: Clock, send: (workflowId: string, content: T) => Promise<void>) {
    this.buckets = new TokenBuckets(SIGNALS, clock);
    this.clock = clock;
    this.send = send;
  }

  /**
   * Resolves when Temporal has stored a signal that was sent after this call. Rejects with `TooManySignalsError` or the
   * error of `send`.
   */
  async deliver(workflowId: string, content: T): Promise<void> {
    const lane = this.lanes.get(workflowId) ?? { next: undefined, free: Promise.resolve() };
    if (lane.next) {
      lane.next.content = content;
      return lane.next.sent;
    }
    if (!this.buckets.take(workflowId)) throw new TooManySignalsError(this.buckets.waitMs(workflowId));
    this.lanes.set(workflowId, lane);
    const next = { content, sent: lane.free.then(() => this.sendNext(workflowId, lane)) };
    lane.next = next;
    lane.free = next.sent.then(undefined, () => undefined).then(() => sleep(this.clock, SPACING_MS));
    void lane.free.then(() => {
      if (!lane.next && this.lanes.get(workflowId) === lane) this.lanes.delete(workflowId);
    });
    return next.sent;
  }

  private async sendNext(workflowId: string, lane: Lane<T>): Promise<void> {
    const { next } = lane;
    lane.next = undefined;
    if (!next) return;
    try {
      await this.send(workflowId, next.content);
    } catch (error) {
      // Also keeps ids of payouts that do not exist out of memory.
      this.buckets.giveBack(workflowId);
      throw error;
    }
  }
}
