/**
 * A provider in the place of the real activities: orders, and what goes wrong on the way to them and back. It knows
 * the truth that the invariants compare with.
 */
import { activityInfo } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { Activities } from '../temporal/activity-runner.ts';
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

interface OrderKey {
  partnerOrderId: string;
}

interface NewOrder extends OrderKey {
  lockRateId: string;
}

interface Amount {
  currency: string;
  amount: string;
}

export class FakeProvider {
  readonly orders = new Map<string, Order>();
  /** Every create that the provider carried out: a second one of the same payout is a second debit. */
  readonly debits = new Map<string, number>();
  notify: (partnerOrderId: string) => void = () => undefined;
  private readonly world: World;
  private readonly troubles: Troubles;

  constructor(world: World, troubles: Troubles = NO_TROUBLES) {
    this.world = world;
    this.troubles = troubles;
  }

  readonly local = (): Activities => ({
    preparePayout: async (request: unknown) => ({ request, settings: SETTINGS }),
    isFirstRun: async () => true,
  });

  readonly activities = (process: WorkerProcess): Activities => ({
    quoteForClient: async (_caller: unknown, _client: unknown, wanted: { instructedAmount: Amount }) => {
      await this.call(process);
      const quote = {
        lockRateId: `LR-${this.world.random.uuid()}`,
        available: usd('9999.00'),
        target,
        ...PRICE,
      };
      return { kind: 'quote', quote: { ...quote, originCurrency: 'USD', targetCurrency: 'CNY' } };
    },
    createPayout: (_caller: unknown, { order, clientId }: { order: NewOrder; clientId: string }) =>
      this.create(process, { ...order, clientId }),
    askWhetherCreated: async (_app: unknown, { key }: { key: OrderKey }) => {
      await this.call(process);
      const { runId } = activityInfo().workflowExecution ?? {};
      const order = this.orders.get(key.partnerOrderId);
      return order
        ? { exists: true, trade: this.trade(order), runId }
        : { exists: false, earlierSend: false, runId };
    },
    fetchOrder: async (_app: unknown, orderId: string) => {
      await this.call(process);
      const order = [...this.orders.values()].find((one) => one.orderId === orderId);
      return {
        orderId,
        status: 'success',
        target: cny('100.00'),
        ...PRICE,
        ...PAIR,
        partnerOrderId: order?.partnerOrderId,
      };
    },
    fetchTradeWithDetail: async (_app: unknown, key: OrderKey) => {
      await this.call(process);
      const order = this.orders.get(key.partnerOrderId);
      if (!order) return { trade: null };
      return { trade: this.trade(order), ...(this.isFinal(order) && { detail: this.detail(order) }) };
    },
    fetchTradeResult: async (_app: unknown, key: OrderKey) => {
      await this.call(process);
      const order = this.orders.get(key.partnerOrderId);
      return order ? this.trade(order) : null;
    },
    fetchTradeDetail: async (_app: unknown, key: OrderKey) => {
      await this.call(process);
      const order = this.orders.get(key.partnerOrderId);
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

  private async create(
    process: WorkerProcess,
    { partnerOrderId, clientId, lockRateId }: NewOrder & { clientId: string },
  ) {
    const { random } = this.world;
    const [isRequestLost, isAnswerLost] = [
      random.chance(this.troubles.requestLost),
      random.chance(this.troubles.answerLost),
    ];
    await process.sleep(random.between(2, 10));
    if (isRequestLost) await never();
    // From here on the provider acts, whatever becomes of the worker.
    const order = this.book(partnerOrderId, clientId);
    await process.sleep(random.between(2, 10));
    if (isAnswerLost) await never();
    const amounts = { ...PRICE, ...PAIR, target: cny('100.00'), lockRateId };
    const { orderId } = order;
    return {
      kind: 'created',
      order: { orderId, partnerOrderId, status: 'success', transactionId: `TX-${orderId}`, ...amounts },
    };
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

  isFinal({ finalAt }: Order): boolean {
    return this.world.now >= finalAt;
  }

  private trade(order: Order) {
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

  private detail(order: Order) {
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

/** An answer that does not come: the activity's own deadline ends it. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}

function usd(amount: string): Amount {
  return { currency: 'USD', amount };
}

function cny(amount: string): Amount {
  return { currency: 'CNY', amount };
}

function iso(ms: number): string {
  return new Date(Math.floor(ms)).toISOString();
}

const PRICE = { exchangeRate: '7.1234', pay: usd('14.11'), fee: usd('0.07') };
const PAIR = { originCurrency: 'USD', targetCurrency: 'CNY' };
const SETTINGS = {
  environment: 'test',
  apiQueue: 'payouts-api:test:default',
  callTimeoutMs: 200,
  lockLifetimeMs: 5000,
  settleWindowMs: 1000,
  createCheck: 'doubtful',
  asksFirst: true,
  quotesForClient: true,
  detailWithResult: true,
  repeatedCreate: 'review',
  pollFirstMs: 2000,
  pollMaxMs: 10_000,
  approvalExpiresMs: 86_400_000,
  stuckAfterMs: 86_400_000,
  callWaitsMs: 300_000,
};
