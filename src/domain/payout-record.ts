/** What a payout workflow remembers: everything here survives continue-as-new, so all of it is plain data. */

import type { Money } from './money.ts';
import type {
  AgreedQuote,
  Attention,
  CheckedPayoutRequest,
  PayoutPhase,
  PayoutResult,
  PayoutSettings,
} from './payout.ts';
import type { TradeResult } from './provider-records.ts';

/** Why it is not known whether the order exists. */
export type UnknownCause =
  /** The create was sent, and no trustworthy answer came. */
  | 'unanswered'
  /** The provider answered a code that means "not served"; it may have served the create all the same (H4). */
  | 'busy'
  /** This run did not send it, but an earlier run or start may have (H6, H7). */
  | 'earlier-run'
  /** The payout started before Temporal was restored to an earlier state, so its history may lack a create (H53). */
  | 'restored'
  /** The payout started soon after that: it may repeat a start that Temporal has lost, whose order is not visible yet (H53). */
  | 'forgotten';

/** How far the creation of the order has come. */
export type Creation =
  /** No create is under way. Whether an earlier one has an unknown outcome is in `unknownSend`. */
  | { stage: 'quoting' }
  | { stage: 'sending' }
  /** `wasSeen`: an answer said that there is an order, and it could not be adopted. */
  | { stage: 'confirming'; cause: UnknownCause; untilMs: number; asks: number; wasSeen?: boolean }
  /** A person decides. `why` says what stands against going on, in words. */
  | { stage: 'review'; why: string }
  | { stage: 'created' };

/** Proof for the create activity that the run named here has confirmed that no order exists. */
export interface Clearance {
  runId: string;
  /** The `PAYOUTS_TEMPORAL_RECOVERED_AT` that was in force when a person, or a whole confirmation window, cleared the send. */
  recoveredAtMs?: number | undefined;
}

/** The order that the payout follows, as the provider described it. */
export interface KnownOrder {
  orderId: string;
  status: string;
  target?: Money | undefined;
  /** What it was created with. */
  quote?: AgreedQuote | undefined;
}

export interface PayoutRecord {
  phase: PayoutPhase;
  /** When the first run of this payout started. Unix milliseconds. */
  startedAtMs: number;
  creation: Creation;
  /**
   * A create was sent and its outcome is unknown. While this stands, the payout neither ends `NOT_CREATED` nor can it
   * be cancelled; only a found order or a person's decision ends it (H58). A later refusal says nothing about it.
   */
  unknownSend?: { cause: UnknownCause; sinceMs: number } | undefined;
  /** Creates that were sent, or may have been. */
  sends: number;
  /** The quotes of the creates that were sent, or may have been. */
  sentQuotes: AgreedQuote[];
  /** Times in a row that the creation started over. */
  restarts: number;
  /** The quote in hand, and when its answer came; its lock lives from then on. */
  quote?: AgreedQuote | undefined;
  quotedAtMs: number;
  /** What the approver saw. */
  approved?: { by: string; quote: AgreedQuote } | undefined;
  approvalExpiresAtMs?: number | undefined;
  refused?: { by: string; note?: string | undefined } | undefined;
  cancelled?: { by: string; reason?: string | undefined } | undefined;
  order?: KnownOrder | undefined;
  /** An order under our `partnerOrderId` that differs, or could not be compared; the person in review is told of it. */
  reviewedOrderId?: string | undefined;
  /** The trade query named another order than the create: there may be two. */
  orderReplaced?: true | undefined;
  /** The last trustworthy answer of the trade query. */
  trade?: TradeResult | undefined;
  attention: Attention[];
  createdAtMs: number;
  lastAskedAtMs: number;
  lastConfirmedAtMs: number;
  /** Queries about the order, answered or not. */
  asks: number;
  /** As many were there when its creation became known: polls back off with those since. */
  asksBefore: number;
  /** Trade queries in a row without a trustworthy answer. */
  unanswered: number;
  /** Since when no answered trade query has named the created order. Unix milliseconds. */
  missingSinceMs?: number | undefined;
  /** Times in a row that result and detail did not agree. */
  disagreements: number;
  /** Debits other than quoted, in words, and how often in a row the provider has said so. */
  debitsSaid?: { message: string; times: number } | undefined;
  /** A notification came that no query has answered yet. */
  hinted: boolean;
  /** Queries that notifications caused without a final status: each doubles the wait before the next. */
  hintsSpent: number;
  hintAllowedAtMs: number;
  result?: PayoutResult | undefined;
}

/** What the next run of the same payout goes on with. */
export interface CarriedOver {
  request: CheckedPayoutRequest;
  settings: PayoutSettings;
  record: PayoutRecord;
}

export function newRecord(startedAtMs: number): PayoutRecord {
  return {
    phase: 'CHECKING',
    startedAtMs,
    creation: { stage: 'quoting' },
    sends: 0,
    sentQuotes: [],
    restarts: 0,
    quotedAtMs: 0,
    attention: [],
    createdAtMs: 0,
    lastAskedAtMs: 0,
    lastConfirmedAtMs: 0,
    asks: 0,
    asksBefore: 0,
    unanswered: 0,
    disagreements: 0,
    hinted: false,
    hintsSpent: 0,
    hintAllowedAtMs: 0,
  };
}
