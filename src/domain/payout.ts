/** The public words of a payout: what callers send, what they get back, what operators read. */
import type { AttentionOf, PayoutAttentionCode } from './attention-codes.ts';
import type { Money } from './money.ts';

export const PAYOUT_TYPES = ['WITHDRAW', 'SUPPLIER'] as const;
export type PayoutType = (typeof PAYOUT_TYPES)[number];

export const PHASES = [
  'SCHEDULED',
  'CHECKING',
  'QUOTING',
  'AWAITING_APPROVAL',
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

/** Why a payout was not created, or (`PROVIDER_FAILED`) why it failed. */
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

/** The beneficiary's bank account, as the spec's `receiver`. */
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

/** A quote outside these is not accepted. */
export interface QuoteLimits {
  maxFee?: Money | undefined;
  /** Decimal text: target currency for one unit of origin currency. */
  minRate?: string | undefined;
  maxPay?: Money | undefined;
}

/** What callers send. Everything about it is checked before anything else happens. */
export interface PayoutRequest {
  /** The application that pays; `default` when absent. */
  app?: string | undefined;
  /** The user the application acts for, where user tokens are used. */
  openId?: string | undefined;
  clientId: string;
  payerId: string;
  /** The caller's own number: the identity of the payout, sent as `outOrderId`. */
  partnerOrderId: string;
  type: PayoutType;
  instructedAmount: Money;
  originCurrency: string;
  targetCurrency: string;
  remittancePurposeCode: string;
  platform?: string | undefined;
  receiver: Receiver;
  limits?: QuoteLimits | undefined;
  approval?: 'none' | 'required' | undefined;
  /** ISO 8601. Nothing is asked of the service before it. */
  notBefore?: string | undefined;
}

/** A request after checking: defaults filled in, amounts with two decimals. */
export interface CheckedPayoutRequest extends PayoutRequest {
  app: string;
  approval: 'none' | 'required';
}

/** The terms a payout was created under. */
export interface AgreedQuote {
  lockRateId: string;
  exchangeRate: string;
  pay: Money;
  target: Money;
  fee: Money;
}

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

/** How a payout ended. Amounts carry exactly two decimals, times are ISO 8601. */
export interface PayoutResult {
  partnerOrderId: string;
  outcome: PayoutOutcome;
  reason?: Reason;
  orderId?: string;
  quote?: AgreedQuote;
  /** Sum over the splits that succeeded. */
  received?: Money;
  /** Sum over the splits that failed. */
  failed?: Money;
  auditStatus?: AuditStatus;
  debits: Debit[];
  splits: Split[];
  createdAt?: string;
  finishedAt?: string;
  learnedBy?: 'notification' | 'poll';
}

export type Attention = AttentionOf<PayoutAttentionCode>;

/** What the `state` query and every update answer. */
export interface PayoutState extends Partial<PayoutResult> {
  phase: PayoutPhase;
  sentence: string;
  nextStep: string;
  /** When the service was last asked about this payout. */
  lastAskedAt?: string;
  /** When the service last gave an answer about it that can be trusted. */
  lastConfirmedAt?: string;
  needsAttention: boolean;
  reasons: Attention[];
  approvalExpiresAt?: string;
  /** While it waits for approval: until then the quote is used as it stands; later, a new one is asked for. */
  lockExpiresAt?: string;
}

/**
 * The settings that a payout keeps for its whole life, read from the worker's configuration at its start. What decides
 * whether a create may be sent is not among them: activities read that at the time (`SendPolicy`).
 */
export interface PayoutSettings {
  environment: string;
  apiQueue: string;
  /** The longest that one exchange with the provider may take. */
  callTimeoutMs: number;
  lockLifetimeMs: number;
  confirmationWindowMs: number;
  pollFirstMs: number;
  pollMaxMs: number;
  approvalExpiresMs: number;
  stuckAfterMs: number;
  /** A call that has waited this long for its turn or its answer is flagged. */
  callWaitsMs: number;
}

/** What the worker's configuration says about sending a create, read at the time of each send. */
export interface SendPolicy {
  /** `PAYOUTS_CREATE_CHECK` */
  createCheck: 'doubtful' | 'always';
  /** `PAYMENTS_REPEATED_CREATE` */
  repeatedCreate: 'review' | 'safe';
  /** `PAYOUTS_TEMPORAL_RECOVERED_AT`. Unix milliseconds. */
  recoveredAtMs?: number | undefined;
  /** How long after that instant an order that was created before it may stay invisible to queries. */
  visibleWithinMs: number;
}
