/** What workflows and activities say to each other. Types only, so that workflows can import them. */

import type { CheckedPayoutRequest, PayoutSettings } from '../domain/payout.ts';
import type { Clearance } from '../domain/payout-record.ts';
import type {
  ClientAccounts,
  CreatePayoutRequest,
  PayoutOrder,
  Quote,
  QuoteRequest,
  TradeDetail,
  TradeKey,
  TradeResult,
} from '../payments/types.ts';

/** For whom a call is made. A worker of another environment refuses it. */
export interface Caller {
  environment: string;
  app: string;
  openId?: string | undefined;
}

export interface CreateOrder {
  order: CreatePayoutRequest;
  /** The first run of the workflow chain; a Workflow Reset makes another run send this same input. */
  firstRunId: string;
  /** The number may not be fresh (a foreign start, or `PAYOUTS_CREATE_CHECK=always`): ask before sending. */
  askFirst: boolean;
  cleared?: Clearance | undefined;
  /** After this the lock is taken to have run out, and nothing is sent. Unix milliseconds. */
  lockExpiresAtMs: number;
  /** Counted from the activity's start: later than this nothing is sent. */
  sendWithinMs: number;
}

/** What became of a create. A failure instead of an answer means: sent, and nothing is known. */
export type CreateAnswer =
  | { kind: 'created'; order: PayoutOrder }
  /** The service answered a code that its operator has confirmed to mean "not created". */
  | { kind: 'not-created'; meaning: 'refused' | 'lock-expired' | 'insufficient' | 'busy'; message: string }
  /** Nothing left this process. */
  | { kind: 'not-sent'; why: 'may-exist' | 'lock-expired' | 'unreachable' };

export interface Question {
  key: TradeKey;
  /** Runs of this workflow id other than the asking one are searched for a create. */
  workflowId: string;
}

/** Whether the order exists, and if not, whether any other run of the payout has ever set out to create it. */
export type WhetherCreated =
  | { exists: true; trade: TradeResult; runId: string }
  | { exists: false; earlierSend: boolean; runId: string };

/** One call to the payments service each; served by the application's own queue. */
export interface ServiceActivities {
  checkAccount(caller: Caller, clientId: string): Promise<ClientAccounts | null>;
  quotePayout(caller: Caller, request: QuoteRequest): Promise<Quote>;
  createPayout(caller: Caller, create: CreateOrder): Promise<CreateAnswer>;
  askWhetherCreated(caller: Caller, question: Question): Promise<WhetherCreated>;
  fetchOrder(caller: Caller, orderId: string): Promise<PayoutOrder>;
  /** Null: the service says that the order does not exist. */
  fetchTradeResult(caller: Caller, key: TradeKey): Promise<TradeResult | null>;
  fetchTradeDetail(caller: Caller, key: TradeKey): Promise<TradeDetail | null>;
}

/** No API call: decides whether the request can be worked on at all. */
export interface LocalActivities {
  preparePayout(
    request: unknown,
    start: { workflowId: string; environment?: unknown },
  ): Promise<{ request: CheckedPayoutRequest; settings: PayoutSettings }>;
}
