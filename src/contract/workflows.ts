/**
 * The signatures of the workflow types that callers start or query. A test compares them with the workflows.
 */
import type { BatchRequest, BatchResult } from '../domain/batch.ts';
import type { AllowanceKey, AllowanceRecord } from '../domain/daily-limits.ts';
import type { DailyReport } from '../domain/daily-report.ts';
import type { DeliveryRecord, EndpointKey } from '../domain/event-delivery.ts';
import type { FollowUpRequest, FollowUpResult } from '../domain/follow-up.ts';
import type { ProbeFinding } from '../domain/open-points.ts';
import type { CheckedPayoutRequest, PayoutRequest, PayoutResult, Reason } from '../domain/payout.ts';
import type {
  ClientAccounts,
  OpaqueRecord,
  Quote,
  ReceivingAccountBalance,
} from '../domain/provider-records.ts';
import type { LeaseKey, LeaseTerm } from '../domain/rate-limit-lease.ts';
import type { OpeningRequest, ReceivingAccountResult } from '../domain/receiving-account.ts';
import type { ClockOffset } from '../domain/time.ts';
import type { AuthorizationOutcome, TokenOwner } from '../domain/token-record.ts';

/** Function properties instead of methods: TypeScript does not compare the parameters of methods strictly. */
export interface WorkflowSignatures {
  payout: (request: PayoutRequest) => Promise<PayoutResult>;
  payoutOperation: (operation: PayoutOperation) => Promise<PayoutResult>;
  payoutBatch: (request: BatchRequest) => Promise<BatchResult>;
  payoutFollowUp: (request: FollowUpRequest) => Promise<FollowUpResult>;
  payoutAcknowledgement: () => Promise<void>;
  payoutReport: (request: { environment: string; day?: string | undefined }) => Promise<DailyReport>;
  openReceivingAccount: (request: OpeningRequest) => Promise<ReceivingAccountResult>;
  eventDelivery: (key: EndpointKey, record?: DeliveryRecord) => Promise<void>;
  tokenRenewal: (owner: TokenOwner) => Promise<void>;
  authorizationLink: (owner: TokenOwner) => Promise<string>;
  userAuthorization: (attempt: AuthorizationAttempt) => Promise<AuthorizationOutcome>;
  rateLimitLease: (key: LeaseKey, record: LeaseTerm) => Promise<void>;
  callerAllowance: (key: AllowanceKey, carried?: AllowanceRecord) => Promise<void>;
  payoutQuote: (request: PayoutRequest) => Promise<QuotedPayout>;
  accountQuery: (query: CallIdentity & { clientId: string }) => Promise<ClientAccounts | null>;
  receivingBalanceQuery: (
    query: CallIdentity & { payerId: string; currency: string },
  ) => Promise<ReceivingAccountBalance>;
  receivingDetailQuery: (query: CallIdentity & { accountId: string }) => Promise<OpaqueRecord | null>;
  providerProbe: (query: CallIdentity & ProbeTarget) => Promise<ProbeResult>;
  workerProbe: (from: string) => Promise<WorkerDescription & { from: string }>;
}

/** The identity of a call: the application and, if user tokens are used, the user for whom it acts. */
export interface CallIdentity {
  app: string;
  openId?: string | undefined;
}

/** One call of the Nexus operation `pay`. */
export interface PayoutOperation {
  /** A worker of another environment refuses the call. */
  environment: string;
  request: CheckedPayoutRequest;
  /** The caller, as recorded with the payout. */
  startedBy: string;
}

export interface AuthorizationAttempt extends TokenOwner {
  /** The authorization code, sealed. */
  code: string;
}

export interface QuotedPayout {
  quote: Quote;
  /** Why a payout would not accept this quote; absent if it would. */
  problem?: Reason;
}

/** What a probe may query. With an existing order, it can check more. */
export interface ProbeTarget {
  clientId?: string | undefined;
  partnerOrderId?: string | undefined;
  payerId?: string | undefined;
}

/** The result of a probe. */
export interface ProbeResult {
  findings: ProbeFinding[];
  /** The ids of the findings that are missing because the provider answered 429. Absent: none. */
  limited?: string[];
  /** Whether the provider answered at all, even with a refusal, and the details. */
  reached: { ok: boolean; detail: string };
  /** The offset of the provider's clock from the worker's; absent if the answer has no `Date` header. */
  clock?: ClockOffset;
}

/** A worker's description of itself: ids and names only, never keys or secrets. */
export interface WorkerDescription {
  nowMs: number;
  environment: string;
  applications: string[];
  /** Key ids; the first key encrypts. Empty if payloads are not encrypted. */
  payloadKeys: string[];
  tokenKeys: string[];
  authorizationKeys: string[];
}
