/**
 * Limits the signals to each workflow to one at a time and one per second. Deliveries in between share the next signal,
 * which carries the latest content.
 */
import { type Clock, sleep } from '../../surroundings/surroundings.ts';

const SPACING_MS = 1_000;

interface Lane<T> {
  /** The signal that is waiting to be sent. */
  next: { content: T; sent: Promise<void> } | undefined;
  /** Resolves `SPACING_MS` after the last signal. */
  free: Promise<unknown>;
}

export class SignalCoalescer<T> {
  private readonly lanes = new Map<string, Lane<T>>();
  private readonly clock: Clock;
  private readonly send: (workflowId: string, content: T) => Promise<void>;

  constructor(clock: Clock, send: (workflowId: string, content: T) => Promise<void>) {
    this.clock = clock;
    this.send = send;
  }

  /** Resolves when Temporal has stored a signal that was sent after this call. Rejects with the error of `send`. */
  deliver(workflowId: string, content: T): Promise<void> {
    const lane = this.lanes.get(workflowId) ?? { next: undefined, free: Promise.resolve() };
    this.lanes.set(workflowId, lane);
    if (lane.next) {
      lane.next.content = content;
      return lane.next.sent;
    }
    const next = { content, sent: lane.free.then(() => this.sendNext(workflowId, lane)) };
    lane.next = next;
    lane.free = next.sent.then(undefined, () => undefined).then(() => sleep(this.clock, SPACING_MS));
    void lane.free.then(() => {
      if (!lane.next && this.lanes.get(workflowId) === lane) this.lanes.delete(workflowId);
    });
    return next.sent;
  }

  private async sendNext(workflowId: string, lane: Lane<T>): Promise<void> {
    const content = lane.next?.content;
    lane.next = undefined;
    if (content !== undefined) await this.send(workflowId, content);
  }
}
