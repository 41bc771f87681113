/**
 * An order as the provider stores it, the book of all orders, and the lifecycle of an order after its creation: its end, splits,
 * refund and notifications.
 */
import { divideHalfUp, type Money } from '../money.ts';
import type { Notification, Notifier } from '../notifier.ts';
import { newId, type Runtime, type Timers } from '../runtime.ts';
import type { Settings } from '../settings.ts';
import type { Accounts } from '../state/accounts.ts';
import type { Price } from '../state/quotes.ts';
import type { Plan } from './scenario.ts';

export interface Split {
  distributeId: string;
  target: Money;
  status: string;
  finishedAtWallMs: number;
  errorMsg?: string;
  refundFlag: boolean;
  refundReason?: string;
}

export interface Receiver {
  bankAccountNumber: string;
  bankAccountName: string;
  bankName: string;
}

export interface Order {
  orderId: string;
  outOrderId: string | undefined;
  appId: string;
  payerId: string;
  receiver: Receiver;
  instructed: Money;
  price: Price;
  /** The lock that the order names; null if it was ignored. */
  lockRateId: string | null;
  plan: Plan;
  status: string;
  auditStatus: string;
  complete: boolean;
  v2Status: string | undefined;
  errorMsg: string | undefined;
  splits: Split[];
  /** Returned to the payer for failed splits. */
  returnedMinor: bigint;
  /** The client received the true answer to its create. */
  isKnown: boolean;
  createdAtMs: number;
  createdAtWallMs: number;
  /** Trade queries do not find the order before this time. */
  visibleAtMs: number;
  finalAtMs: number | undefined;
  finishedAtWallMs: number | undefined;
  /** How many false answers the plan's oddity has produced. */
  oddAnswers: number;
  /** JSON merge patches for the data of answers, by operation. */
  answerPatches: Map<string, unknown>;
}

export const FINAL_STATUSES: readonly string[] = ['SUCCESS', 'PARTIAL_SUCCESS', 'FAILED'];

export class OrderBook {
  readonly #byOrderId = new Map<string, Order>();
  readonly #byOutOrderId = new Map<string, Order[]>();

  add(order: Order): void {
    this.#byOrderId.set(order.orderId, order);
    if (order.outOrderId === undefined) return;
    const same = this.#byOutOrderId.get(order.outOrderId);
    if (same) same.push(order);
    else this.#byOutOrderId.set(order.outOrderId, [order]);
  }

  byOrderId(orderId: string): Order | undefined {
    return this.#byOrderId.get(orderId);
  }

  /** All orders with this `partnerOrderId`, oldest first. More than one is a double payment. */
  byPartnerOrderId(partnerOrderId: string): readonly Order[] {
    return this.#byOutOrderId.get(partnerOrderId) ?? [];
  }

  all(): Iterable<Order> {
    return this.#byOrderId.values();
  }

  get size(): number {
    return this.#byOrderId.size;
  }

  reset(): void {
    this.#byOrderId.clear();
    this.#byOutOrderId.clear();
  }
}

export interface LifeParts {
  runtime: Runtime;
  timers: Timers;
  accounts: Accounts;
  notifier: Notifier;
  settings: () => Settings;
}

const BANK_REFUSED = 'the beneficiary bank refused the payment';
const AUDIT_REJECTED = 'the risk audit rejected the order';
const OUT_OF_ORDER_GAP_MS = 50;

export class OrderLife {
  readonly #parts: LifeParts;

  constructor(parts: LifeParts) {
    this.#parts = parts;
  }

  begin(order: Order): void {
    const { plan } = order;
    this.#sendForgedIfPlanned(order);
    const { outcome } = plan;
    if (outcome === undefined) return;
    const early = plan.notify.mode === 'early';
    const finalMs = plan.finalMs ?? (early ? 0 : this.#parts.settings().finalAfterMs);
    if (finalMs === 0) this.end(order, outcome);
    else this.#parts.timers.after(finalMs, () => this.#endUnlessEnded(order, outcome));
  }

  /** Ends the order with `status`, even if the plan differs, and notifies the application as planned. */
  end(order: Order, status: string): void {
    const { plan } = order;
    const { runtime } = this.#parts;
    order.status = status;
    order.auditStatus = plan.auditAtEnd;
    order.complete = true;
    order.finalAtMs = runtime.clock.nowMs();
    order.finishedAtWallMs = runtime.clock.wallMs();
    order.splits = splitsOf(order, status, runtime);
    if (status === 'FAILED' && order.splits.length <= 1)
      order.errorMsg = plan.auditAtEnd === 'REJECTED' ? AUDIT_REJECTED : BANK_REFUSED;
    this.#returnFailed(order, status);
    if (plan.refundAfterMs === 0) refundFirstSplit(order);
    else if (plan.refundAfterMs !== undefined)
      this.#parts.timers.after(plan.refundAfterMs, () => refundFirstSplit(order));
    this.#notify(order);
  }

  #endUnlessEnded(order: Order, outcome: string): void {
    if (!FINAL_STATUSES.includes(order.status)) this.end(order, outcome);
  }

  /** Returns the money of failed splits to the payer. */
  #returnFailed(order: Order, status: string): void {
    const failed =
      status === 'FAILED'
        ? order.price.target.minor
        : sumOf(order.splits, 'FAILED', order.price.target).minor;
    if (failed === 0n) return;
    const { pay, target } = order.price;
    order.returnedMinor = divideHalfUp(pay.minor * failed, target.minor);
    const back: Money = { currency: pay.currency, minor: -order.returnedMinor };
    this.#parts.accounts.debit(order.payerId, back, this.#parts.settings());
  }

  #notify(order: Order): void {
    const { notifier, timers, runtime } = this.#parts;
    const { mode, delayMs } = order.plan.notify;
    const truth = truthOf(order);
    const send = (afterMs: number, notification: Notification) =>
      timers.after(afterMs, () => void notifier.send(notification, mode));
    if (mode === 'none' || mode === 'early') return;
    if (mode === 'lost') notifier.lose(truth);
    else send(delayMs, mode === 'wrong-order' ? { ...truth, orderId: newId(runtime.random, 'PO') } : truth);
    if (mode === 'doubled') send(delayMs, truth);
    if (mode === 'out-of-order') send(delayMs + OUT_OF_ORDER_GAP_MS, { ...truth, status: 'PROCESSING' });
  }

  /** A forger does not know the secret. The provider still sends a true notification at the end. */
  #sendForgedIfPlanned(order: Order): void {
    const { mode, delayMs } = order.plan.notify;
    if (mode !== 'forged') return;
    const { notifier, timers } = this.#parts;
    timers.after(delayMs, () => {
      void notifier.send({ ...truthOf(order), status: 'SUCCESS', signature: 'forged' }, mode);
    });
  }
}

export function refundFirstSplit(order: Order): void {
  const split = order.splits.find((candidate) => candidate.status === 'SUCCESS');
  if (!split) return;
  split.refundFlag = true;
  split.refundReason = 'the beneficiary bank returned the payment';
}

export function sumOf(splits: readonly Split[], status: string, like: Money): Money {
  const minor = splits
    .filter((split) => split.status === status)
    .reduce((total, split) => total + split.target.minor, 0n);
  return { currency: like.currency, minor };
}

function splitsOf(order: Order, status: string, runtime: Runtime): Split[] {
  const { plan, price } = order;
  if (status === 'FAILED' && plan.failedDetail === 'none') return [];
  const count = BigInt(plan.splits);
  const share = price.target.minor / count;
  return Array.from({ length: plan.splits }, (_, index) => {
    // The last split takes the remainder, so that the splits add up to the order.
    const isLast = index === plan.splits - 1;
    const minor = isLast ? price.target.minor - share * (count - 1n) : share;
    return newSplit({ currency: price.target.currency, minor }, isFailed(order, status, index), runtime);
  });
}

/** The control API may end an order differently than planned: a partial success then has at least one failed split. */
function isFailed(order: Order, status: string, index: number): boolean {
  if (status === 'FAILED') return true;
  return status === 'PARTIAL_SUCCESS' && index < Math.max(order.plan.failed, 1);
}

function newSplit(target: Money, failed: boolean, { clock, random }: Runtime): Split {
  return {
    distributeId: newId(random, 'DI'),
    target,
    status: failed ? 'FAILED' : 'SUCCESS',
    finishedAtWallMs: clock.wallMs(),
    ...(failed ? { errorMsg: BANK_REFUSED } : {}),
    refundFlag: false,
  };
}

/** A true notification about `order`. Before its end, it contains the planned status. */
export function truthOf(order: Order): Notification {
  const status = order.finalAtMs === undefined ? (order.plan.outcome ?? 'SUCCESS') : order.status;
  return { appId: order.appId, orderId: order.orderId, partnerOrderId: order.outOrderId, status };
}
