/** The public types of a payout: the request, the result and the state. */
import type { ApprovalPolicy } from './approval-policy.ts';
import type { AttentionOf, PayoutAttentionCode } from './attention-codes.ts';
import type { MadeDecision, Terms } from './decisions.ts';
import type { Echo } from './echo.ts';
import type { EventType } from './event-log.ts';
import type { Money } from './money.ts';

export const PAYOUT_TYPES = ['WITHDRAW', 'SUPPLIER'] as const;

export const PHASES = [
  'SCHEDULED',
  'CHECKING',
  'QUOTING',
  'AWAITING_APPROVAL',
  'PAUSED',
  'CREATING',
  'RECONCILING',
  'NEEDS_REVIEW',
  'PROCESSING',
  'FETCHING_DETAIL',
  'DONE',
] as const;
export type PayoutPhase = (typeof PHASES)[number];

export const OUTCOMES = ['SUCCESS', 'PARTIAL_SUCCESS', 'FAILED', 'NOT_CREATED'] as const;
export type PayoutOutcome = (typeof OUTCOMES)[number];

/** Why no order was created, or (`PROVIDER_FAILED`) why the order failed. */
export const REASON_CODES = [
  'QUOTE_OUT_OF_LIMITS',
  'INSUFFICIENT_BALANCE',
  'ACCOUNT_NOT_USABLE',
  'APPROVAL_REFUSED',
  'APPROVAL_EXPIRED',
  'REFUSED_BY_PROVIDER',
  'CANCELLED',
  'RESOLVED_NOT_CREATED',
  'PROVIDER_FAILED',
] as const;
export type ReasonCode = (typeof REASON_CODES)[number];

export interface Reason {
  code: ReasonCode;
  message: string;
}

export const AUDIT_STATUSES = ['PROCESSING', 'APPROVED', 'REJECTED', 'RETURNED'] as const;
export type AuditStatus = (typeof AUDIT_STATUSES)[number];

/** The beneficiary's bank account: `receiver` in the spec's "Payout creation request". */
export interface Receiver {
  bankCountry: string;
  bankName: string;
  bankAccountCurrency: string;
  bankAccountNumber: string;
  bankAccountName: string;
  bankCode?: string | undefined;
  bankBranchName?: string | undefined;
  province?: string | undefined;
  city?: string | undefined;
  idCardNumber: string;
  cardHoldType: string;
}

/** Limits for the quote. A quote outside them is not accepted. */
export interface QuoteLimits {
  maxFee?: Money | undefined;
  /** Decimal text: the least that the beneficiary receives per unit that the payer pays, fee included. */
  minRate?: string | undefined;
  maxPay?: Money | undefined;
}

export type Metadata = Record<string, string>;

/** The payout request, as callers send it. It is validated before anything else happens. */
export interface PayoutRequest {
  /** The application that pays. Default `default`. */
  app?: string | undefined;
  /** The user for whom the application acts, if user tokens are used. */
  openId?: string | undefined;
  clientId: string;
  payerId: string;
  /** The caller's own id for the payout, unique per application. Sent as `outOrderId`. */
  partnerOrderId: string;
  type: (typeof PAYOUT_TYPES)[number];
  instructedAmount: Money;
  originCurrency: string;
  targetCurrency: string;
  remittancePurposeCode: string;
  platform?: string | undefined;
  receiver: Receiver;
  limits?: QuoteLimits | undefined;
  approval?: 'none' | 'required' | undefined;
  /** ISO 8601. Nothing is sent to the provider before this time. */
  notBefore?: string | undefined;
  /** The caller's own pairs. Results repeat them; the provider never sees them. */
  metadata?: Metadata | undefined;
}

/** A validated request: defaults filled in, amounts with two decimals. */
export interface CheckedPayoutRequest extends PayoutRequest {
  app: string;
  approval: 'none' | 'required';
}

/** The terms of the quote under which a payout is created. */
export interface AgreedQuote extends Terms {
  /** Ties the quote to one create. */
  lockRateId: string;
  /** Decimal text of any precision. */
  exchangeRate: string;
}

/** One charge to a payer account (spec: Payout trade detail, `pay_account_detail`). */
export interface Debit {
  accountId: string;
  accountType: string;
  pay: Money;
  fee: Money;
  actual: Money;
}

export interface Split {
  distributeId: string;
  target: Money;
  status: 'SUCCESS' | 'FAILED';
  finishedAt?: string;
  error?: string;
  refunded: boolean;
  refundReason?: string;
}

/** The result of a payout. Amounts have exactly two decimals, times are ISO 8601. */
export interface PayoutResult {
  partnerOrderId: string;
  outcome: PayoutOutcome;
  reason?: Reason;
  orderId?: string;
  quote?: AgreedQuote;
  /** The sum of the splits that succeeded. */
  received?: Money;
  /** The sum of the splits that failed. */
  failed?: Money;
  auditStatus?: AuditStatus;
  debits: Debit[];
  splits: Split[];
  createdAt?: string;
  finishedAt?: string;
  learnedBy?: 'notification' | 'poll';
  /** The decisions of people that counted, the latest last. */
  decisions?: MadeDecision[];
  /** The pairs of the request. */
  metadata?: Metadata;
}

/** A reason for the attention flag: something that a person should look at. */
export type Attention = AttentionOf<PayoutAttentionCode>;

/** The state in words. */
export interface StateText {
  sentence: string;
  nextStep: string;
}

/** The text of a phase that a newer version has written into the record. */
export const OF_NEWER_VERSION: StateText = {
  sentence: 'In a phase that this version of the workers does not know.',
  nextStep: 'Continues on workers of the version that wrote it.',
};

export interface Acknowledgement {
  by: string;
  /** ISO 8601. */
  at: string;
  note?: string;
  /** The flags of the payout and of its follow-up then. */
  reasons: { code: string; message: string }[];
}

/** The result of the query `state` and of every update. */
export interface PayoutState extends Partial<PayoutResult>, StateText {
  phase: PayoutPhase;
  /** When the provider was last asked about this payout. */
  lastAskedAt?: string;
  /** When the last query was sent that the provider answered in a trustworthy way. */
  lastConfirmedAt?: string;
  needsAttention: boolean;
  reasons: Attention[];
  /** After the end: the flags that the payout ended with, and who has seen them. */
  acknowledged?: Acknowledgement;
  approvalExpiresAt?: string;
  /** While the payout waits for approval: when its lock expires. An approval after that requires a requote. */
  lockExpiresAt?: string;
  /** In review: how many creates this run has sent, or may have sent. */
  sends?: number;
  /** In review: the orders that the provider has named under this `partnerOrderId` and that were not adopted. */
  reviewedOrderIds?: string[];
}

/**
 * The settings that a payout keeps for its whole life, read from the worker's configuration at its start. The settings
 * that decide whether a create may be sent are not included: activities read them at each send (`SendPolicy`).
 */
export interface PayoutSettings {
  environment: string;
  apiQueue: string;
  /** The maximum duration of one exchange with the provider. */
  callTimeoutMs: number;
  lockLifetimeMs: number;
  confirmationWindowMs: number;
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

/** What decides whether a create may be sent, read at each send. The last two are shared settings. */
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
