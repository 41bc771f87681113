/** One payout as the service holds it, and the book of all of them. */
import type { Money } from '../money.ts';
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
  /** The lock the order says it used; null where it was ignored. */
  lockRateId: string | null;
  plan: Plan;
  status: string;
  auditStatus: string;
  complete: boolean;
  v2Status: string | undefined;
  errorMsg: string | undefined;
  splits: Split[];
  /** Given back to the payer because payments failed. */
  returnedMinor: bigint;
  /** Whether the client was told of it by the true answer to its create. */
  isKnown: boolean;
  createdAtMs: number;
  createdAtWallMs: number;
  /** Queries do not find the order before this moment. */
  visibleAtMs: number;
  finalAtMs: number | undefined;
  finishedAtWallMs: number | undefined;
  /** How many untrue answers the plan's oddity has given. */
  oddAnswers: number;
  /** JSON merge patches over the data of an operation's answers. */
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

  /** All payouts under one number, oldest first; more than one is a double payment. */
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
