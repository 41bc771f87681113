/** An order as the provider stores it, and the book of all orders. */
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
