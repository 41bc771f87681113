/** The state of a payout workflow. It survives continue-as-new, so it is plain data. */

import type { EventType, PayoutPhase } from '../contract/codes.ts';
import type { Money } from '../contract/money.ts';
import type {
  AgreedQuote,
  Attention,
  MadeDecision,
  PayoutResult,
  Reason,
  Terms,
} from '../contract/payout.ts';
import type { CheckedPayoutRequest } from '../contract/payout-request.ts';
import type { TradeResult } from '../contract/provider-records.ts';
import type { ApprovalPolicy } from '../contract/rate-limit.ts';
import { EventLog } from './events.ts';
import type { Echo } from './provider-text.ts';

/**
 * The settings that a payout keeps for its whole life, read from the worker's configuration at its start. The settings
 * that decide whether a create call may be sent aren't included: activities read them at each send (`SendPolicy`).
 */
export interface PayoutSettings {
  environment: string;
  apiQueue: string;
  /** The maximum duration of one exchange with the provider. */
  callTimeoutMs: number;
  lockLifetimeMs: number;
  confirmationWindowMs: number;
  /** `PAYMENTS_READ_LAG` */
  readLagMs: number;
  /** `PAYMENTS_TRADE_ORDER_ID` */
  tradeOrderId: 'same' | 'own';
  echo: Echo;
  pollFirstMs: number;
  pollMaxMs: number;
  approvalExpiresMs: number;
  overdueAfterMs: number;
  /** A call that waits longer than this sets the attention flag. */
  callWaitsMs: number;
  /** The types of events that an endpoint of the application wants. Absent: it has no endpoint. */
  eventTypes?: EventType[];
  /**
   * What a version must know to continue a workflow with these settings. This version knows nothing of the kind and writes
   * nothing here, but obeys a newer one.
   */
  requires?: string[];
}

/** Decides whether a create call may be sent. Read at each send. The last two are shared settings. */
export interface SendPolicy {
  /** `PAYOUTS_CREATE_CHECK` */
  createCheck: 'doubtful' | 'always';
  /** `PAYMENTS_REPEATED_CREATE` */
  repeatedCreate: 'review' | 'safe';
  /** `PAYMENTS_CLIENT_PAIRS` */
  clientPairs: 'learned' | 'trusted';
  /** How long an order that was created before the restore may stay invisible to queries after it. */
  visibleWithinMs: number;
  /** When Temporal last lost something. Unix milliseconds. */
  recoveredAtMs?: number | undefined;
  approvals: ApprovalPolicy;
}

/** Why it is unknown whether the order exists. */
export type UnknownCause =
  /** The create call was sent, and no trustworthy response came. */
  | 'unanswered'
  /** The provider returned a code that means "not served", but it may have served the create call anyway (H4). */
  | 'busy'
  /** The provider says that this number was used: for an order of ours, or of another system (H236). */
  | 'duplicate'
  /** The provider refused the create call with a listed code, and hasn't confirmed yet that there is no order (H230). */
  | 'refused'
  /** This run didn't send it, but an earlier run or start may have (H6, H7). */
  | 'earlier-run'
  /** The payout started before Temporal was restored to an earlier state, so its history may lack a create call (H53). */
  | 'restored'
  /**
   * The payout started soon after the restore: it may repeat a start that Temporal lost, whose order isn't visible yet
   * (H53).
   */
  | 'lost-run';

/** The stage of the order's creation. */
export type Creation =
  /** No create call is under way. Whether an earlier one has an unknown outcome is in `unknownSend`. */
  | { stage: 'quoting' }
  | { stage: 'sending' }
  | {
      stage: 'confirming';
      cause: UnknownCause;
      /** From then on, trade queries show an order of the last response. Unix milliseconds. */
      readsFromMs: number;
      untilMs: number;
      queries: number;
      /** With the cause `refused`: the end, once no order is confirmed. Without it, the payout starts over. */
      end?: Reason | undefined;
    }
  /** An operator decides. `reason` says what blocks the payout. */
  | { stage: 'review'; reason: string }
  | { stage: 'created' };

/** Tells the create activity that the run `runId` has confirmed that no order exists. */
export interface Clearance {
  runId: string;
  /** When Temporal had last lost something, by the shared settings, when an operator or a whole confirmation window cleared the send. */
  recoveredAtMs?: number | undefined;
}

/** The order that the payout tracks, as the provider described it. */
export interface KnownOrder {
  orderId: string;
  /** The `order_id` of its trade queries, if it is known to be another number (H233). */
  tradeOrderId?: string | undefined;
  status: string;
  target?: Money | undefined;
  /** The quote that it was created with. */
  quote?: AgreedQuote | undefined;
}

/** An order that the provider has named under our `partnerOrderId`, and that the payout hasn't adopted. */
export interface FoundOrder {
  orderId: string;
  /** It was read and differs from the request, so it isn't this payout's (H54). Only a read or an operator disproves it. */
  differs: boolean;
}

export class PayoutRecord {
  phase: PayoutPhase = 'CHECKING';
  /** When the first run of this payout started. Unix milliseconds. */
  startedAtMs: number;
  creation: Creation = { stage: 'quoting' };
  /**
   * A create call was sent and its outcome is unknown. While this is set, the payout can neither end `NOT_CREATED` nor be
   * canceled; only a found order or an operator's decision clears it (H58). A later refusal proves nothing about it.
   */
  unknownSend?: { cause: UnknownCause; sinceMs: number } | undefined;
  /** Create calls that were sent, or may have been. */
  sends = 0;
  /** The quotes of the create calls that were sent, or may have been. */
  sentQuotes: AgreedQuote[] = [];
  /** Those in the histories of all other runs of the payout, also of those that it continues. Null: not readable. */
  earlierQuotes: (AgreedQuote | null)[] = [];
  /** How many times in a row the creation was restarted. */
  creationRestarts = 0;
  /** How many times in a row the provider has refused the account check or the quote. */
  quoteRefusals = 0;
  /** The current quote, and when its request was sent. The lock's lifetime starts then. */
  quote?: AgreedQuote | undefined;
  quotedAtMs = 0;
  /** The approver, and the worst terms that the approval covers. */
  approved?: { by: string; covers: Terms } | undefined;
  approvalExpiresAtMs?: number | undefined;
  refused?: { by: string; note?: string | undefined } | undefined;
  canceled?: { by: string; reason?: string | undefined } | undefined;
  /** Accepted ones only. */
  decisions: MadeDecision[] = [];
  order?: KnownOrder | undefined;
  /** The review shows these orders. */
  foundOrders: FoundOrder[] = [];
  /** The trade query named a different order than the create call, so there may be two orders. */
  orderReplaced?: true | undefined;
  /** The last trustworthy response of the trade query. */
  trade?: TradeResult | undefined;
  attention: Attention[] = [];
  createdAtMs = 0;
  lastAskedAtMs = 0;
  /** When the last call was scheduled that brought a trustworthy response. Its response may be later. Unix milliseconds. */
  lastConfirmedAtMs = 0;
  /** Queries about the order, answered or not. */
  queries = 0;
  /** The value of `queries` when the creation became known. The polling interval grows with the queries since then. */
  queriesBeforeOrder = 0;
  /** Trade queries in a row without a trustworthy response. */
  unanswered = 0;
  /** When the workflow first saw that a trade query didn't name the created order. Unix milliseconds. */
  missingSinceMs?: number | undefined;
  /** How many times in a row result and detail disagreed. */
  disagreements = 0;
  /** A message about debits that differ from the quote, and how often in a row the provider has reported them. */
  reportedDebits?: { message: string; times: number } | undefined;
  /** A notification has arrived since the last query. */
  hinted = false;
  /** Queries that notifications triggered without finding a final status. Each doubles the pause before the next. */
  hintedQueries = 0;
  hintAllowedAtMs = 0;
  /** When the latest notification arrived, by its own statement. Only metrics use it. Unix milliseconds. */
  notifiedAtMs?: number | undefined;
  result?: PayoutResult | undefined;
  log = new EventLog();

  constructor(startedAtMs: number) {
    this.startedAtMs = startedAtMs;
  }
}

/** Passed by continue-as-new to the next run of the payout. */
export interface CarriedOver {
  request: CheckedPayoutRequest;
  settings: PayoutSettings;
  record: PayoutRecord;
}

/** Whether a trade query names this order. With an id of its own, the first trade of the order has it. */
export function isTradeOf(
  { orderId, tradeOrderId }: KnownOrder,
  trade: Pick<TradeResult, 'orderId'>,
  ids: PayoutSettings['tradeOrderId'],
): boolean {
  const expected = tradeOrderId ?? (ids === 'same' ? orderId : trade.orderId);
  return trade.orderId === expected;
}

export function foundOrderIds({ foundOrders }: PayoutRecord): string[] {
  return foundOrders.map(({ orderId }) => orderId);
}

/** An order that the provider has named and no read has disproved: it may be this payout's, whatever a later response says. */
export function undisprovedOrders({ foundOrders }: PayoutRecord): string[] {
  return foundOrders.filter(({ differs }) => !differs).map(({ orderId }) => orderId);
}

/** More than anyone makes. The result of a payout has all of them. */
const MAX_DECISIONS = 50;

export function withDecision(made: readonly MadeDecision[], decision: MadeDecision): MadeDecision[] {
  return [...made, decision].slice(-MAX_DECISIONS);
}

/**
 * Whether `decision`, the argument of an update, is the latest decision of its kind once more, by the same actor. A
 * caller that lost the response sends it again.
 */
export function repeatsLast(
  made: readonly MadeDecision[],
  action: MadeDecision['action'],
  decision: unknown,
): boolean {
  const last = made.findLast((one) => one.action === action);
  if (!last || typeof decision !== 'object' || decision === null) return false;
  const sent = new Map(Object.entries(decision));
  const isSame = (field: keyof MadeDecision) => sent.get(field) === last[field];
  const mayBeAbsent = (['lockRateId', 'sends'] as const).filter((field) => sent.get(field) !== undefined);
  const compared = ['by', 'tolerance', 'created', 'orderId', 'tradeOrderId', 'then', ...mayBeAbsent] as const;
  return compared.every(isSame);
}
