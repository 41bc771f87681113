/** Brings a notification to its payout. Believes nothing of it: it is a hint to ask the service. */
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { endedPayout } from '../../client/ended-payout.ts';
import { notifyFollowUp } from '../../client/follow-ups.ts';
import { payoutWorkflowId } from '../../contract/ids.ts';
import { type Notification, notificationSignal } from '../../contract/payout-messages.ts';
import type { Notification as Heard } from '../../payments/index.ts';
import { PROCESS_SURROUNDINGS } from '../../surroundings/process.ts';
import { type Clock, repeat } from '../../surroundings/surroundings.ts';
import { isQuotable } from '../../temporal/visibility.ts';
import { Coalesced } from './coalesced.ts';
import { UnknownNotifications, type UnknownOptions } from './unknown-notifications.ts';

/** `delivered`: Temporal has it. `ended`: so it has, for the follow-up. `unknown`: kept for a while and looked up again. */
export type Received = 'delivered' | 'ended' | 'unknown';

/** Thrown when more lookups are under way than Temporal should be asked for: the sender may try again. */
export class ReceiverBusyError extends Error {
  override readonly name = 'ReceiverBusyError';
}

const TEMPORAL_ANSWERS_WITHIN_MS = 8_000;
const MOST_LOOKUPS_AT_ONCE = 64;
/** A flood of junk costs Temporal at most this many further lookups a second. */
const LOOK_AGAIN_EVERY_MS = 50;

type Kept = { app: string; heard: Heard; receivedAt: string };

export class Receiver {
  private readonly client: Client;
  private readonly signals: Coalesced<Notification>;
  private readonly late: Coalesced<Notification>;
  private readonly unknown: UnknownNotifications<Kept>;
  private readonly clock: Clock;
  /** Only while something is kept. */
  private stopLooking: (() => void) | undefined;
  private lookups = 0;
  private lookingAgain = false;
  private closed = false;

  constructor(client: Client, { clock, ...options }: UnknownOptions & { clock?: Clock } = {}) {
    this.client = client;
    this.clock = clock ?? PROCESS_SURROUNDINGS.clock;
    this.signals = new Coalesced(this.clock, (workflowId, notification) =>
      this.signal(workflowId, notification),
    );
    this.late = new Coalesced(this.clock, (workflowId, notification) =>
      this.follow(workflowId, notification),
    );
    this.unknown = new UnknownNotifications(options);
  }

  /**
   * Resolves with `delivered` or `ended` only when Temporal has it. Rejects when Temporal does not answer, or with
   * `ReceiverBusyError`; nothing is kept then, and the sender must try again.
   */
  async receive(app: string, heard: Heard): Promise<Received> {
    const receivedAt = new Date(this.clock.wallMs()).toISOString();
    const key = JSON.stringify([app, heard.partnerOrderId, heard.orderId]);
    // A repeat of what nobody knows is one entry, and costs no lookup of its own.
    if (this.unknown.has(key)) return 'unknown';
    const found = await this.bring({ app, heard, receivedAt });
    if (found === 'unknown') this.keep(key, { app, heard, receivedAt });
    return found;
  }

  get waiting(): number {
    return this.unknown.size;
  }

  close(): void {
    this.closed = true;
    this.stopLooking?.();
  }

  private keep(key: string, kept: Kept): void {
    this.unknown.keep(key, kept, this.clock.wallMs());
    if (!this.closed)
      this.stopLooking ??= repeat(this.clock, LOOK_AGAIN_EVERY_MS, () => void this.lookAgain());
  }

  private async bring({ app, heard, receivedAt }: Kept): Promise<Received> {
    const { partnerOrderId, orderId } = heard;
    const notification: Notification = { receivedAt, ...heard };
    if (partnerOrderId !== undefined) {
      const told = await this.tell(payoutWorkflowId(app, partnerOrderId), notification);
      if (told !== 'unknown') return told;
    }
    const workflowId = orderId === undefined ? undefined : await this.byOrder(app, orderId);
    return workflowId === undefined ? 'unknown' : this.tell(workflowId, notification);
  }

  private async tell(workflowId: string, notification: Notification): Promise<Received> {
    try {
      await this.signals.deliver(workflowId, notification);
      return 'delivered';
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
    try {
      await this.late.deliver(workflowId, notification);
      return 'ended';
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
      return 'unknown';
    }
  }

  /**
   * After the end (H34). A payout that was stopped instead asks by itself once it is started again. Throws Temporal's
   * `WorkflowNotFoundError` where there is no such payout.
   */
  private async follow(workflowId: string, notification: Notification): Promise<void> {
    await this.soon(async () => {
      const ended = await endedPayout(this.client, workflowId, this.clock);
      if (ended) await notifyFollowUp(this.client, ended, notification);
    });
  }

  private signal(workflowId: string, notification: Notification): Promise<void> {
    return this.soon(() =>
      this.client.workflow.getHandle(workflowId).signal(notificationSignal, notification),
    );
  }

  /** Through Temporal's visibility, which knows an order number once its payout has come to rest. */
  private async byOrder(app: string, orderId: string): Promise<string | undefined> {
    // What would end the quoted text of a query is in no order number worth looking for.
    if (!isQuotable(orderId)) return undefined;
    const query = `WorkflowType = 'payout' AND PayoutApp = '${app}' AND PayoutOrderId = '${orderId}'`;
    return this.soon(async () => {
      for await (const { workflowId } of this.client.workflow.list({ query, pageSize: 1 })) return workflowId;
      return undefined;
    });
  }

  private async soon<T>(ask: () => Promise<T>): Promise<T> {
    if (this.lookups >= MOST_LOOKUPS_AT_ONCE) throw new ReceiverBusyError('too many lookups are under way');
    this.lookups += 1;
    try {
      return await this.client.withDeadline(this.clock.wallMs() + TEMPORAL_ANSWERS_WITHIN_MS, ask);
    } finally {
      this.lookups -= 1;
    }
  }

  private async lookAgain(): Promise<void> {
    const one = this.lookingAgain ? undefined : this.unknown.due(this.clock.wallMs());
    if (this.unknown.size === 0) {
      this.stopLooking?.();
      this.stopLooking = undefined;
    }
    if (!one) return;
    this.lookingAgain = true;
    try {
      if ((await this.bring(one.content)) !== 'unknown') this.unknown.forget(one.key);
    } catch {
      // Temporal is away or busy: it stays in line.
    } finally {
      this.lookingAgain = false;
    }
  }
}
