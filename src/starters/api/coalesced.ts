/**
 * However many notifications arrive for one payout, its workflow gets at most one signal at a time and one a
 * second. Whoever comes meanwhile shares the next signal, and is answered when Temporal has that one.
 */
import { type Clock, sleep } from '../../surroundings/surroundings.ts';

const SPACING_MS = 1_000;

interface Lane<T> {
  /** The signal that has not been sent yet; newcomers share it. */
  next: { content: T; sent: Promise<void> } | undefined;
  /** Resolves when the last signal is answered and its second is over. */
  free: Promise<unknown>;
}

export class Coalesced<T> {
  private readonly lanes = new Map<string, Lane<T>>();
  private readonly send: (key: string, content: T) => Promise<void>;

  private readonly clock: Clock;

  constructor(clock: Clock, send: (key: string, content: T) => Promise<void>) {
    this.clock = clock;
    this.send = send;
  }

  /** Resolves once a signal that was sent after this call is durable; rejects when it could not be sent. */
  deliver(key: string, content: T): Promise<void> {
    const lane = this.lanes.get(key) ?? { next: undefined, free: Promise.resolve() };
    this.lanes.set(key, lane);
    if (lane.next) {
      lane.next.content = content;
      return lane.next.sent;
    }
    const next = { content, sent: lane.free.then(() => this.sendNext(key, lane)) };
    lane.next = next;
    lane.free = next.sent.then(undefined, () => undefined).then(() => sleep(this.clock, SPACING_MS));
    void lane.free.then(() => this.forget(key, lane));
    return next.sent;
  }

  /** How many payouts are being signalled. */
  get size(): number {
    return this.lanes.size;
  }

  private async sendNext(key: string, lane: Lane<T>): Promise<void> {
    const content = lane.next?.content;
    lane.next = undefined;
    if (content !== undefined) await this.send(key, content);
  }

  private forget(key: string, lane: Lane<T>): void {
    if (!lane.next && this.lanes.get(key) === lane) this.lanes.delete(key);
  }
}
