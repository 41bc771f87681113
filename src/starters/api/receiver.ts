/** Delivers a notification to its payout. Trusts nothing in it: the payout asks the provider. */
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { endedPayout, notifyFollowUp } from '../../client/follow-ups.ts';
import { payoutWorkflowId } from '../../contract/ids.ts';
import { type Notification as NotificationSignal, notificationSignal } from '../../contract/workflows.ts';
import type { Notification } from '../../payments/index.ts';
import { PROCESS_SURROUNDINGS } from '../../runtime/process.ts';
import { type Clock, repeat } from '../../runtime/runtime.ts';
import { isQuotable } from '../../temporal/visibility.ts';
import { SignalCoalescer } from './signal-coalescer.ts';
import { UnmatchedNotifications } from './unmatched-notifications.ts';

/**
 * `delivered`: Temporal has stored it for the payout. `ended`: for its follow-up. `unknown`: it matches no payout, is kept
 * and looked up again.
 */
export type Received = 'delivered' | 'ended' | 'unknown';

const TEMPORAL_TIMEOUT_MS = 8_000;
const MAX_CONCURRENT_LOOKUPS = 64;
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
  private lookups = 0;
  private isRetrying = false;
  private closed = false;

  constructor(client: Client, { clock = PROCESS_SURROUNDINGS.clock }: { clock?: Clock } = {}) {
    this.client = client;
    this.clock = clock;
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
   * send it again.
   */
  async receive(app: string, notification: Notification): Promise<Received> {
    const receivedAt = new Date(this.clock.wallMs()).toISOString();
    const key = JSON.stringify([app, notification.partnerOrderId, notification.orderId]);
    // A repeated unmatched notification needs no lookup.
    if (this.unmatched.has(key)) return 'unknown';
    const kept = { app, notification, receivedAt };
    const received = await this.deliver(kept);
    if (received === 'unknown') this.keep(key, kept);
    return received;
  }

  /** The number of unmatched notifications. */
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

  private async limited<T>(call: () => Promise<T>): Promise<T> {
    if (this.lookups >= MAX_CONCURRENT_LOOKUPS) throw new Error('too many lookups are in flight');
    this.lookups += 1;
    try {
      return await this.client.withDeadline(this.clock.wallMs() + TEMPORAL_TIMEOUT_MS, call);
    } finally {
      this.lookups -= 1;
    }
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
