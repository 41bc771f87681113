/**
 * A provider in the place of the real activities: orders, and what goes wrong on the way to them and back. It knows
 * the truth that the invariants compare with.
 */
import { activityInfo } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { CreateAnswer, CreateOrder, ServiceActivities } from '../../src/activities/types.ts';
import type { Money } from '../../src/domain/money.ts';
import type { PayoutOrder, TradeDetail, TradeResult } from '../../src/payments/types.ts';
import type { WorkerProcess } from '../temporal/worker.ts';
import type { World } from '../world/world.ts';

/** Probabilities for each call. */
export interface Troubles {
  requestLost: number;
  answerLost: number;
  unavailable: number;
  busy: number;
  notified: number;
  notifiedTwice: number;
  /** Longest time until an order ends. */
  finalMs: number;
}

export const NO_TROUBLES: Troubles = {
  ...{ requestLost: 0, answerLost: 0, unavailable: 0, busy: 0 },
  ...{ notified: 1, notifiedTwice: 0, finalMs: 20 },
};
export const TROUBLES: Troubles = {
  ...{ requestLost: 0.1, answerLost: 0.1, unavailable: 0.1, busy: 0.05 },
  ...{ notified: 0.7, notifiedTwice: 0.3, finalMs: 3000 },
};

export interface Order {
  orderId: string;
  partnerOrderId: string;
  clientId: string;
  createdAt: number;
  finalAt: number;
}

/** What the workflow of a payout asks of the provider. */
type Calls =
  | 'quoteForClient'
  | 'createPayout'
  | 'confirmOrder'
  | 'fetchOrder'
  | 'fetchTradeWithDetail'
  | 'fetchTradeDetail';

export class FakeProvider {
  readonly orders = new Map<string, Order>();
  /** Every create that arrived. */
  readonly creates: { partnerOrderId: string; lockRateId: string }[] = [];
  /** Orders that exist and that no query finds yet. */
  readonly hidden = new Set<string>();
  /** Every create that the provider carried out: a second one of the same payout is a second debit. */
  readonly debits = new Map<string, number>();
  notify: (partnerOrderId: string) => void = () => undefined;
  /** Acknowledged by Temporal, or refused. */
  claim: (process: WorkerProcess, taskToken: Uint8Array) => Promise<void> = async () => undefined;
  private readonly world: World;
  private readonly troubles: Troubles;

  constructor(world: World, troubles: Troubles = NO_TROUBLES) {
    this.world = world;
    this.troubles = troubles;
  }

  readonly activities = (process: WorkerProcess): Pick<ServiceActivities, Calls> => ({
    quoteForClient: async (_caller, _clientId, { instructedAmount }) => {
      await this.call(process);
      const quote = {
        lockRateId: `LR-${this.world.random.uuid()}`,
        available: usd('9999.00'),
        ...PRICE,
        ...PAIR,
      };
      return { kind: 'quote', quote: { ...quote, target: instructedAmount } };
    },
    createPayout: (_caller, create) => this.create(process, create),
    confirmOrder: async (_caller, { key }) => {
      await this.call(process);
      const runId = activityInfo().workflowExecution?.runId ?? '';
      const order = this.found(key.partnerOrderId);
      const common = { runId, earlierSend: false };
      return order
        ? { ...common, exists: true, trade: this.trade(order), otherBody: false }
        : { ...common, exists: false, mayRepeat: false };
    },
    fetchOrder: async (_caller, orderId) => {
      await this.call(process);
      const order = [...this.orders.values()].find((one) => one.orderId === orderId);
      if (!order) throw ApplicationFailure.nonRetryable('no such order', 'NOT_FOUND');
      return ordered(order);
    },
    fetchTradeWithDetail: async (_caller, { partnerOrderId }) => {
      await this.call(process);
      const order = this.found(partnerOrderId);
      if (!order) return { trade: null };
      return { trade: this.trade(order), ...(this.isFinal(order) && { detail: this.detail(order) }) };
    },
    fetchTradeDetail: async (_caller, { partnerOrderId }) => {
      await this.call(process);
      const order = this.found(partnerOrderId);
      return order ? this.detail(order) : null;
    },
  });

  private async call(process: WorkerProcess): Promise<void> {
    const { random } = this.world;
    const isUnavailable = random.chance(this.troubles.unavailable);
    const isBusy = random.chance(this.troubles.busy);
    await process.sleep(random.between(2, 20));
    if (isUnavailable) throw ApplicationFailure.retryable('no answer', 'UNAVAILABLE');
    if (isBusy)
      throw ApplicationFailure.create({ message: '429', type: 'RATE_LIMITED', nextRetryDelay: 1000 });
  }

  private async create(process: WorkerProcess, { order, clientId }: CreateOrder): Promise<CreateAnswer> {
    const { random } = this.world;
    const isRequestLost = random.chance(this.troubles.requestLost);
    const isAnswerLost = random.chance(this.troubles.answerLost);
    await process.sleep(random.between(2, 10));
    // Nothing leaves before Temporal knows that it may: see src/activities/send-once.ts.
    await this.claim(process, activityInfo().taskToken);
    if (isRequestLost) await never();
    // From here on the provider acts, whatever becomes of the worker.
    this.creates.push({ partnerOrderId: order.partnerOrderId, lockRateId: order.lockRateId });
    const made = this.book(order.partnerOrderId, clientId);
    await process.sleep(random.between(2, 10));
    if (isAnswerLost) await never();
    return { kind: 'created', order: { ...ordered(made), lockRateId: order.lockRateId } };
  }

  private book(partnerOrderId: string, clientId: string): Order {
    const { random, now } = this.world;
    const finalAt = now + this.troubles.finalMs * random.between(0.5, 1.5);
    const order = { orderId: `PO-${random.uuid()}`, partnerOrderId, clientId, createdAt: now, finalAt };
    this.debits.set(partnerOrderId, (this.debits.get(partnerOrderId) ?? 0) + 1);
    if (!this.orders.has(partnerOrderId)) this.orders.set(partnerOrderId, order);
    const tell = (delayMs: number) =>
      this.world.at(finalAt - now + delayMs, () => this.notify(partnerOrderId));
    if (random.chance(this.troubles.notified)) tell(5);
    if (random.chance(this.troubles.notifiedTwice)) tell(random.between(5, 50));
    return this.orders.get(partnerOrderId) ?? order;
  }

  private found(partnerOrderId: string): Order | undefined {
    return this.hidden.has(partnerOrderId) ? undefined : this.orders.get(partnerOrderId);
  }

  isFinal({ finalAt }: Order): boolean {
    return this.world.now >= finalAt;
  }

  private trade(order: Order): TradeResult {
    const { orderId, partnerOrderId, clientId, createdAt, finalAt } = order;
    const isFinal = this.isFinal(order);
    return {
      ...{
        orderId,
        partnerOrderId,
        clientId,
        complete: true,
        targetCurrency: 'CNY',
        auditStatus: 'APPROVED',
      },
      status: isFinal ? 'SUCCESS' : 'PROCESSING',
      createdAt: iso(createdAt),
      ...(isFinal && { finishedAt: iso(finalAt) }),
      received: cny(isFinal ? '100.00' : '0.00'),
      failed: cny('0.00'),
    };
  }

  private detail(order: Order): TradeDetail {
    const debit = { accountId: 'AC-payer-1-USD', accountType: 'AVAIL_ACCOUNT', actual: usd('14.04') };
    const split = {
      distributeId: `DI-${order.orderId}`,
      target: cny('100.00'),
      status: 'SUCCESS',
      refunded: false,
    };
    return {
      ...this.trade(order),
      debits: [{ ...debit, pay: usd('14.11'), fee: usd('0.07') }],
      splits: [{ ...split, finishedAt: iso(order.finalAt) }],
    };
  }
}

function ordered({ orderId, partnerOrderId }: Order): PayoutOrder {
  const amounts = { ...PRICE, ...PAIR, target: cny('100.00') };
  return { orderId, partnerOrderId, status: 'success', transactionId: `TX-${orderId}`, ...amounts };
}

/** An answer that does not come: the activity's own deadline ends it. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}

function usd(amount: string): Money {
  return { currency: 'USD', amount };
}

function cny(amount: string): Money {
  return { currency: 'CNY', amount };
}

function iso(ms: number): string {
  return new Date(Math.floor(ms)).toISOString();
}

const PRICE = { exchangeRate: '7.1234', pay: usd('14.11'), fee: usd('0.07') };
const PAIR = { originCurrency: 'USD', targetCurrency: 'CNY' };
