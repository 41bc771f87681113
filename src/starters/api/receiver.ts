/** Delivers a notification to its payout. Trusts nothing in it: the payout asks the provider. */
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { endedPayout, notifyFollowUp } from '../../client/follow-ups.ts';
import { ReadSlots } from '../../client/shared-reads.ts';
import { payoutWorkflowId } from '../../contract/ids.ts';
import { type Notification as NotificationSignal, notificationSignal } from '../../contract/workflows.ts';
import type { Notification } from '../../payments/index.ts';
import { type Clock, repeat, sleep } from '../../runtime/runtime.ts';
import { TokenBuckets } from '../../runtime/token-buckets.ts';
import { isQuotable } from '../../temporal/visibility.ts';

/**
 * `delivered`: Temporal has stored it for the payout. `ended`: for its follow-up. `unknown`: it matches no payout, is kept
 * and looked up again.
 */
export const RECEIVED = ['delivered', 'ended', 'unknown'] as const;
export type Received = (typeof RECEIVED)[number];

const TEMPORAL_TIMEOUT_MS = 8_000;
/** One more than these is rejected at once. */
const LOOKUPS = { inFlight: 64, waiting: 0, waitMs: 0 };
/** Limits the lookups that a flood of unmatched notifications costs Temporal. */
const LOOKUP_INTERVAL_MS = 50;

type Kept = { app: string; notification: Notification; receivedAt: string };

export class Receiver {
  private readonly client: Client;
  private readonly clock: Clock;
  private readonly payoutSignals: SignalCoalescer<NotificationSignal>;
  private readonly followUpSignals: SignalCoalescer<NotificationSignal>;
  private readonly unmatched = new UnmatchedNotifications<Kept>();
  /** Set while notifications are kept. */
  private stopLookups: (() => void) | undefined;
  private readonly lookups: ReadSlots;
  private isRetrying = false;
  private closed = false;

  constructor(client: Client, clock: Clock) {
    this.client = client;
    this.clock = clock;
    this.lookups = new ReadSlots(LOOKUPS, clock);
    this.payoutSignals = new SignalCoalescer(this.clock, (workflowId, signal) =>
      this.limited(() => this.client.workflow.getHandle(workflowId).signal(notificationSignal, signal)),
    );
    this.followUpSignals = new SignalCoalescer(this.clock, (workflowId, signal) =>
      this.limited(() => this.signalFollowUp(workflowId, signal)),
    );
  }

  /**
   * Resolves with `delivered` or `ended` after Temporal has stored the notification. Rejects if Temporal does not
   * respond, if too many lookups are in flight, or with `TooManySignalsError`; then nothing is kept, and the sender must
   * send it again. Beyond the limit of signals, a notification that isn't verified is kept, as one about an unknown order is.
   */
  async receive(app: string, notification: Notification, { isVerified = true } = {}): Promise<Received> {
    const receivedAt = new Date(this.clock.wallMs()).toISOString();
    const key = JSON.stringify([app, notification.partnerOrderId, notification.orderId]);
    // A repeated unmatched notification needs no lookup.
    if (this.unmatched.has(key)) return 'unknown';
    const kept = { app, notification, receivedAt };
    const received = await this.deliver(kept).catch((error: unknown) => {
      // A 429 would tell that the order exists.
      if (error instanceof TooManySignalsError && !isVerified) return 'unknown' as const;
      throw error;
    });
    if (received === 'unknown') this.keep(key, kept);
    return received;
  }

  get waiting(): number {
    return this.unmatched.size;
  }

  close(): void {
    this.closed = true;
    this.stopLookups?.();
  }

  private keep(key: string, kept: Kept): void {
    this.unmatched.keep(key, kept, this.clock.wallMs());
    if (!this.closed)
      this.stopLookups ??= repeat(this.clock, LOOKUP_INTERVAL_MS, () => void this.retryNext());
  }

  private async deliver({ app, notification, receivedAt }: Kept): Promise<Received> {
    const { partnerOrderId, orderId } = notification;
    const signal: NotificationSignal = { receivedAt, ...notification };
    if (partnerOrderId !== undefined) {
      const received = await this.deliverTo(payoutWorkflowId(app, partnerOrderId), signal);
      if (received !== 'unknown') return received;
    }
    const workflowId = orderId === undefined ? undefined : await this.findByOrder(app, orderId);
    return workflowId === undefined ? 'unknown' : this.deliverTo(workflowId, signal);
  }

  private async deliverTo(workflowId: string, signal: NotificationSignal): Promise<Received> {
    if (await isFound(this.payoutSignals.deliver(workflowId, signal))) return 'delivered';
    return (await isFound(this.followUpSignals.deliver(workflowId, signal))) ? 'ended' : 'unknown';
  }

  /**
   * Notifies the follow-up of an ended payout (H34). A payout whose workflow was stopped asks the provider after it is
   * started again. Throws `WorkflowNotFoundError` if there is no such payout.
   */
  private async signalFollowUp(workflowId: string, signal: NotificationSignal): Promise<void> {
    const ended = await endedPayout(this.client, workflowId);
    if (ended) await notifyFollowUp(this.client, ended, signal);
  }

  /** Searches Temporal's visibility, which has the order id of a payout at rest. */
  private async findByOrder(app: string, orderId: string): Promise<string | undefined> {
    // No order id contains characters that would end the quoted text of a query.
    if (!isQuotable(orderId)) return undefined;
    const query = `WorkflowType = 'payout' AND PayoutApp = '${app}' AND PayoutOrderId = '${orderId}'`;
    return this.limited(async () => {
      for await (const { workflowId } of this.client.workflow.list({ query, pageSize: 1 })) return workflowId;
      return undefined;
    });
  }

  private limited<T>(call: () => Promise<T>): Promise<T> {
    const untilMs = this.clock.wallMs() + TEMPORAL_TIMEOUT_MS;
    return this.lookups.run(() => this.client.withDeadline(untilMs, call));
  }

  private async retryNext(): Promise<void> {
    const next = this.isRetrying ? undefined : this.unmatched.due(this.clock.wallMs());
    if (this.unmatched.size === 0) {
      this.stopLookups?.();
      this.stopLookups = undefined;
    }
    if (!next) return;
    this.isRetrying = true;
    try {
      if ((await this.deliver(next.content)) !== 'unknown') this.unmatched.forget(next.key);
    } catch {
      // Temporal is unreachable or busy: the notification remains in the queue.
    } finally {
      this.isRetrying = false;
    }
  }
}

async function isFound(call: Promise<void>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

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
  next: { content: T; sent: Promise<void> } | undefined;
  /** Resolves `SPACING_MS` after the last signal. */
  free: Promise<unknown>;
}

/**
 * Limits the signals to each workflow: one at a time, one per second, and the rate of a token bucket. Deliveries in between
 * share the next signal, which carries the latest content.
 */
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
      // Keeps ids of payouts that do not exist out of memory, too.
      this.buckets.giveBack(workflowId);
      throw error;
    }
  }
}

export interface Unmatched<T> {
  key: string;
  content: T;
  keptAtMs: number;
}

const MAX_COUNT = 10_000;
const KEEP_MS = 120_000;
/** Between two lookups of the same notification. */
const PAUSE_MS = 5_000;

/**
 * Notifications that match no payout yet: a notification may arrive before the response to the create call, and Temporal's
 * visibility lags. Keeps them in bounded memory for two minutes and looks them up again. Dropping one, even by a
 * restart, is safe, because every payout polls.
 */
export class UnmatchedNotifications<T> {
  private readonly kept = new Map<string, Unmatched<T> & { nextLookupMs: number }>();

  has(key: string): boolean {
    return this.kept.has(key);
  }

  get size(): number {
    return this.kept.size;
  }

  /** If memory is full, drops the notification at the head of the queue. */
  keep(key: string, content: T, nowMs: number): void {
    const keptAtMs = this.kept.get(key)?.keptAtMs ?? nowMs;
    if (!this.kept.has(key) && this.kept.size >= MAX_COUNT) {
      const [first] = this.kept.keys();
      if (first !== undefined) this.kept.delete(first);
    }
    this.kept.set(key, { key, content, keptAtMs, nextLookupMs: nowMs + PAUSE_MS });
  }

  forget(key: string): void {
    this.kept.delete(key);
  }

  /** The next notification to look up, if one is due. Drops expired ones. */
  due(nowMs: number): Unmatched<T> | undefined {
    for (const [key, one] of this.kept) {
      if (nowMs - one.keptAtMs >= KEEP_MS) this.kept.delete(key);
      else if (one.nextLookupMs <= nowMs) {
        // Moves it to the end of the queue.
        this.kept.delete(key);
        this.kept.set(key, { ...one, nextLookupMs: nowMs + PAUSE_MS });
        return one;
      }
    }
    return undefined;
  }
}
