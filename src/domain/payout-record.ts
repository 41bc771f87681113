/** What a payout workflow remembers: everything here survives continue-as-new, so all of it is plain data. */
import type { TradeResult } from '../payments/types.ts';
import type { Money } from './money.ts';
import type {
  AgreedQuote,
  Attention,
  CheckedPayoutRequest,
  PayoutPhase,
  PayoutResult,
  PayoutSettings,
} from './payout.ts';

/** Why nobody can say yet whether the order exists. */
export type Doubt =
  /** The create was sent, and no answer came that can be trusted. */
  | 'unknown'
  /** The service answered a code that its operator says means "not served": asked for all the same. */
  | 'busy'
  /** Not sent by this run, but an earlier run or start may have sent it. */
  | 'earlier-run';

/** How far the creation has come. Only in `quoting` is it sure that nothing has been sent. */
export type Creation =
  | { stage: 'quoting' }
  | { stage: 'sending'; cleared?: Clearance | undefined }
  | { stage: 'settling'; doubt: Doubt; untilMs: number; asks: number }
  | { stage: 'review'; doubt: Doubt }
  | { stage: 'created' };

/** Proof for the create activity that this very run has asked and found no order. */
export interface Clearance {
  runId: string;
}

export interface PayoutRecord {
  phase: PayoutPhase;
  creation: Creation;
  /** The quote in hand, and when it was asked for; its lock lives from then on. */
  quote?: AgreedQuote | undefined;
  quotedAtMs: number;
  /** What the approver saw. */
  approved?: { by: string; quote: AgreedQuote } | undefined;
  approvalExpiresAtMs?: number | undefined;
  refused?: { by: string; note?: string | undefined } | undefined;
  cancelled?: { by: string; reason?: string | undefined } | undefined;
  order?: { orderId: string; status: string; target?: Money | undefined } | undefined;
  /** The last trustworthy answer of the trade query. */
  trade?: TradeResult | undefined;
  attention: Attention[];
  createdAtMs: number;
  lastAskedAtMs: number;
  lastConfirmedAtMs: number;
  /** Trade queries since the creation, answered or not: the age that polls back off by. */
  asks: number;
  /** Trade queries in a row without a trustworthy answer. */
  unanswered: number;
  /** Times in a row that result and detail did not agree. */
  disagreements: number;
  /** A notification came that no query has answered yet. */
  hinted: boolean;
  /** Queries that notifications caused without showing the end: each doubles the wait before the next. */
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

export function newRecord(): PayoutRecord {
  return {
    phase: 'CHECKING',
    creation: { stage: 'quoting' },
    quotedAtMs: 0,
    attention: [],
    createdAtMs: 0,
    lastAskedAtMs: 0,
    lastConfirmedAtMs: 0,
    asks: 0,
    unanswered: 0,
    disagreements: 0,
    hinted: false,
    hintsSpent: 0,
    hintAllowedAtMs: 0,
  };
}
