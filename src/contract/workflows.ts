/**
 * The workflow types that others start or ask, with what each takes and gives. A test compares them with the
 * workflows.
 */
import type { AuthorizationOutcome } from '../domain/authorization.ts';
import type { BatchRequest, BatchResult } from '../domain/batch.ts';
import type { ClockOffset } from '../domain/clock-offset.ts';
import type { DailyReport } from '../domain/daily-report.ts';
import type { FollowUpRequest, FollowUpResult } from '../domain/follow-up.ts';
import type { ProbeFinding } from '../domain/open-points.ts';
import type { CheckedPayoutRequest, PayoutRequest, PayoutResult, Reason } from '../domain/payout.ts';
import type {
  ClientAccounts,
  OpaqueRecord,
  Quote,
  ReceivingAccountBalance,
} from '../domain/provider-records.ts';
import type { LeaseKey, LeaseRecord } from '../domain/rate-limit-lease.ts';
import type { OpeningRequest, ReceivingAccountResult } from '../domain/receiving-account.ts';
import type { TokenOwner } from '../domain/token-record.ts';

/** Properties, for the parameters of methods are not compared strictly. */
export interface WorkflowSignatures {
  payout: (request: PayoutRequest) => Promise<PayoutResult>;
  payoutOperation: (operation: PayoutOperation) => Promise<PayoutResult>;
  payoutBatch: (request: BatchRequest) => Promise<BatchResult>;
  payoutFollowUp: (request: FollowUpRequest) => Promise<FollowUpResult>;
  payoutReport: (request: { environment: string; day?: string | undefined }) => Promise<DailyReport>;
  openReceivingAccount: (request: OpeningRequest) => Promise<ReceivingAccountResult>;
  tokenRenewal: (owner: TokenOwner) => Promise<void>;
  authorizationLink: (owner: TokenOwner) => Promise<string>;
  userAuthorization: (attempt: AuthorizationAttempt) => Promise<AuthorizationOutcome>;
  rateLimitLease: (place: LeaseKey, record: LeaseRecord) => Promise<void>;
  payoutQuote: (request: PayoutRequest) => Promise<QuotedPayout>;
  accountQuery: (question: CallIdentity & { clientId: string }) => Promise<ClientAccounts | null>;
  receivingBalanceQuery: (
    question: CallIdentity & { payerId: string; currency: string },
  ) => Promise<ReceivingAccountBalance>;
  receivingDetailQuery: (question: CallIdentity & { accountId: string }) => Promise<OpaqueRecord | null>;
  serviceProbe: (question: CallIdentity & ProbeTarget) => Promise<ProbeResult>;
  workerProbe: (from: string) => Promise<WorkerDescription & { from: string }>;
}

/** For whom a read calls: the application, and the user that it acts for where user tokens are used. */
export interface CallIdentity {
  app: string;
  openId?: string | undefined;
}

/** Whom to pay, for whom: one call of the Nexus operation `pay`. */
export interface PayoutOperation {
  /** A worker of another environment refuses it. */
  environment: string;
  request: CheckedPayoutRequest;
}

export interface AuthorizationAttempt extends TokenOwner {
  /** The authorization code, sealed. */
  code: string;
}

export interface QuotedPayout {
  quote: Quote;
  /** Why a payout would not accept this quote; absent when it would. */
  problem?: Reason;
}

/** What a probe may look at: an existing order shows more than none. */
export interface ProbeTarget {
  clientId?: string | undefined;
  partnerOrderId?: string | undefined;
  payerId?: string | undefined;
}

/** What came of a probe. */
export interface ProbeResult {
  findings: ProbeFinding[];
  /** Whether the service answered at all, be it with a refusal; if not, what came instead. */
  reached: { ok: boolean; detail: string };
  /** The service's clock as this worker saw it; absent where its answer carries no date. */
  clock?: ClockOffset;
}

/** A worker as it describes itself: ids and names only, never a key or a secret. */
export interface WorkerDescription {
  nowMs: number;
  environment: string;
  applications: string[];
  /** The first encrypts. Empty: payloads are plain. */
  payloadKeys: string[];
  tokenKeys: string[];
}
