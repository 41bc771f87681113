/** The workflow types that callers start or query: their arguments, results and messages. */

import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { AddedRows, BatchRequest, BatchResult, BatchState, PartReport } from './batch.ts';
import type {
  DeliveryOutcome,
  DeliveryRecord,
  EndpointKey,
  EndpointState,
  QueueEvents,
  RecordedEvent,
} from './events.ts';
import type { Money } from './money.ts';
import type { ProbeFinding } from './open-points.ts';
import type { PayoutResult, PayoutState, Reason } from './payout.ts';
import type { CheckedPayoutRequest, PayoutRequest } from './payout-request.ts';
import type { ClientAccounts, OpaqueRecord, Quote, ReceivingAccountBalance } from './provider-records.ts';
import type {
  CallsPerSecondChange,
  LeaseKey,
  LeaseTerm,
  PauseRequest,
  RateLimitState,
} from './rate-limit.ts';
import type {
  ReceivingAccountRequest,
  ReceivingAccountResult,
  ReceivingAccountState,
} from './receiving-account.ts';
import type { DailyReport, FollowUpRequest, FollowUpResult } from './reconciliation.ts';
import type { AuthorizationOutcome, CurrentGrant, Grant, TokenOwner, TokenState } from './tokens.ts';

/** Function properties instead of methods: TypeScript doesn't compare the parameters of methods strictly. */
export interface WorkflowSignatures {
  payout: (request: PayoutRequest) => Promise<PayoutResult>;
  payoutOperation: (operation: PayoutOperation) => Promise<PayoutResult>;
  payoutBatch: (request: BatchRequest) => Promise<BatchResult>;
  payoutFollowUp: (request: FollowUpRequest) => Promise<FollowUpResult>;
  payoutAcknowledgement: () => Promise<void>;
  payoutReport: (request: { environment: string; day?: string | undefined }) => Promise<DailyReport>;
  openReceivingAccount: (request: ReceivingAccountRequest) => Promise<ReceivingAccountResult>;
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
  /** By which the payout is found: a workflow has no keys to make them. */
  hashes?: string[] | undefined;
}

export interface AuthorizationAttempt extends TokenOwner {
  /** The authorization code, sealed. */
  code: string;
}

export interface QuotedPayout {
  quote: Quote;
  /** Why a payout wouldn't accept this quote; absent if it would. */
  problem?: Reason;
}

/** With an existing order, a probe can check more. */
export interface ProbeTarget {
  clientId?: string | undefined;
  partnerOrderId?: string | undefined;
  payerId?: string | undefined;
}

export interface ProbeResult {
  findings: ProbeFinding[];
  /** The ids of the findings that are missing because the provider returned 429. Absent: none. */
  limited?: string[];
  /** Whether the provider responded at all, even with a refusal, and the details. */
  reached: { ok: boolean; detail: string };
  /** The offset of the provider's clock from the worker's; absent if the response has no `Date` header. */
  clock?: ClockOffset;
}

/** A worker's description of itself: ids and names only, never keys or secrets. */
export interface WorkerDescription {
  nowMs: number;
  environment: string;
  applications: string[];
  /** Key ids; the first key encrypts. Empty if payloads aren't encrypted. */
  payloadKeys: string[];
  tokenKeys: string[];
  authorizationKeys: string[];
}

/** Milliseconds by which the other clock is provably ahead (above 0) or behind (below 0). 0: no proven difference. */
export type ClockOffset = number;

/** A notification from the provider. A hint to query the order, never a fact. */
export interface Notification {
  /** When the notification receiver received it. ISO 8601. */
  receivedAt: string;
  orderId?: string | undefined;
  partnerOrderId?: string | undefined;
  status?: string | undefined;
  body?: unknown;
}

/** The argument of `refuse`. */
export interface Decision {
  /** The name of the approver; not empty. */
  by: string;
  note?: string | undefined;
  /** `quote.lockRateId` of the state that the approver has read. The decision applies only to that quote. */
  lockRateId?: string | undefined;
}

/** The argument of `approve`. */
export interface ApprovalDecision extends Decision {
  /**
   * By how many percent more than the quote that the approver has read the payer may pay, and the fee may be, in a later
   * quote: a percentage below 10, such as `0.5`. Without it, the approval covers only a later quote that isn't worse.
   */
  tolerance?: string | undefined;
}

/** The argument of `cancel`. */
export interface CancelRequest {
  by: string;
  reason?: string | undefined;
}

/** The argument of `resolve`: a decision about an order of unknown existence. */
export type Resolution =
  | {
      by: string;
      created: true;
      orderId: string;
      /** One of the `reviewedOrderIds`: the trade queries have this number for the order (H233). */
      tradeOrderId?: string | undefined;
    }
  | NotCreatedResolution;

interface NotCreated {
  by: string;
  created: false;
  then: 'end' | 'retry';
  /** `sends` of the state that the operator has read. The decision expires with another send. */
  sends?: number | undefined;
}

export interface NotCreatedResolution extends NotCreated {
  /**
   * `reviewedOrderIds` of the state that the operator has read: none of these orders is this payout's. Required while one
   * of them couldn't be read to compare it.
   */
  reviewedOrderIds?: string[] | undefined;
}

/**
 * The argument names its update, so that nobody without a payload key can send a refusal again as an approval (H327). That
 * of other programs may name none.
 */
export function argumentOf<A extends object>({ name }: { name: string }, argument: A): A {
  return { ...argument, update: name };
}

export const notificationSignal = defineSignal<[Notification]>('notification');
export const stateQuery = defineQuery<PayoutState>('state');
export const approveUpdate = defineUpdate<PayoutState, [ApprovalDecision]>('approve');
export const refuseUpdate = defineUpdate<PayoutState, [Decision]>('refuse');
export const cancelUpdate = defineUpdate<PayoutState, [CancelRequest]>('cancel');
export const resolveUpdate = defineUpdate<PayoutState, [Resolution]>('resolve');
export const pollUpdate = defineUpdate<PayoutState>('poll');

/** The result of a follow-up so far. It also receives `notification`. */
export const changesQuery = defineQuery<FollowUpResult>('changes');

export interface AddRows {
  /** The index in the batch of the first of these rows. The first row of the batch is row 0. */
  offset: number;
  /** At most 500. */
  payouts: PayoutRequest[];
}

export const addUpdate = defineUpdate<BatchState, [AddRows]>('add');
export const batchStateQuery = defineQuery<BatchState>('state');

/** The rows that were added, for a caller who continues a batch and compares them. */
export const addedRowsQuery = defineQuery<AddedRows[]>('addedRows');

/** The argument of a signal to a part. It names the signal, so that no other ciphertext of the part stands for it. */
export interface PartSignal {
  signal: string;
  batchId: string;
}

/** From the batch to a part: start the rows, and report. */
export const turnSignal = defineSignal<[PartSignal]>('turn');

/** From the batch to a part: start no more rows. */
export const stopStartingSignal = defineSignal<[PartSignal]>('stopStarting');

/** From a part to its batch. */
export const partReportSignal = defineSignal<[PartReport]>('partReport');

/** The argument of `resolve`: a decision about an account of unknown existence. */
export type ReceivingAccountResolution =
  | { by: string; created: true; accountId: string }
  | (NotCreated & {
      /** `candidates` of the state that the operator has read. The decision expires if there are others. */
      candidates?: string[] | undefined;
    });

export const receivingAccountStateQuery = defineQuery<ReceivingAccountState>('state');

export const resolveReceivingAccountUpdate = defineUpdate<
  ReceivingAccountState,
  [ReceivingAccountResolution]
>('resolve');

export interface GrantRequest {
  /** The fingerprint of a token that the provider rejected. The result is the next grant. */
  rejected?: string | undefined;
}

/**
 * For workers: the current grant, sealed. An update rather than a query, because our own timeouts decide how soon a
 * workflow task leaves a crashed worker, while the server decides how long a query waits. Null if there is no grant
 * within a few seconds.
 */
export const grantUpdate = defineUpdate<CurrentGrant | null, [GrantRequest]>('grant');

/** For operators: renews the token now. */
export const renewUpdate = defineUpdate<TokenState>('renew');

/** The tokens of a new user authorization. A signal, so that they are kept whatever the renewal is doing. */
export const authorizedSignal = defineSignal<[Grant]>('authorized');
export const tokenStateQuery = defineQuery<TokenState>('state');

/** The events that a payout, a follow-up, a batch or a token renewal has recorded, the latest last. */
export const eventsQuery = defineQuery<RecordedEvent[]>('events');

export const publishSignal = defineSignal<[QueueEvents]>('publish');
export const endpointStateQuery = defineQuery<EndpointState>('state');

/** Sends everything that waits again, even to a disabled endpoint. */
export const enableEndpointUpdate = defineUpdate<EndpointState, [{ by: string }]>('enable');

/** Sends one event of the type `endpoint.test` now, without a retry. */
export const testEndpointUpdate = defineUpdate<DeliveryOutcome>('test');

/** Takes effect with a clean handover, about half a second later. Returns the new state. */
export const setCallsPerSecondUpdate = defineUpdate<RateLimitState, [CallsPerSecondChange]>(
  'setCallsPerSecond',
);

/**
 * No create call of the application is written later than `RENEWAL_VALID_MS` after the update has completed. A pause of a
 * paused application changes nothing.
 */
export const pauseUpdate = defineUpdate<RateLimitState, [PauseRequest]>('pause');
export const resumeUpdate = defineUpdate<RateLimitState, [Pick<PauseRequest, 'by'>]>('resume');
export const rateLimitQuery = defineQuery<RateLimitState>('state');

/** From an owner whose configuration names the application differently: operators find the lease by that name. */
export const appRenamedSignal = defineSignal<[app: string]>('appRenamed');

/** Part of a caller's permissions. An absent limit doesn't restrict. */
export interface DailyLimits {
  /** The largest sum of `instructedAmount` per day by currency. A currency that isn't listed isn't allowed. */
  dailyAmount?: Readonly<Record<string, string>> | undefined;
  /** The largest number of payouts per day. */
  dailyCount?: number | undefined;
}

export interface AllowanceKey {
  environment: string;
  caller: string;
}

/** Payouts in one currency, in a short form: 50,000 fit into one payload. */
export interface ReservedPayouts {
  currency: string;
  /** Concatenated. */
  keys: string;
  /** The amounts in hundredths, in the same order, separated by commas. */
  hundredths: string;
}

/** All of these payouts are reserved, or none. */
export interface Reservation {
  limits: DailyLimits;
  payouts: readonly ReservedPayouts[];
}

/** The argument of the update `reserve`. Each reservation is accepted or refused by itself. */
export interface ReserveRequest {
  reservations: readonly Reservation[];
}

/** In the same order. Null: reserved. */
export interface ReserveResult {
  refusals: (DailyRefusal | null)[];
}

/** The reservations of a caller on the day of its last one. */
export interface AllowanceState {
  /** UTC, such as `2026-01-31`. */
  day: string;
  /** The number of payouts. */
  count: number;
  /** The sums by currency. */
  sums: Money[];
}

/** Survives continue-as-new, so it is plain data. */
export interface AllowanceRecord {
  day: string;
  /** In hundredths, by currency. */
  sums: Record<string, string>;
  /** The keys of the reserved payouts, concatenated. */
  keys: string;
}

export interface DailyRefusal {
  /** Follows the name of who is refused, such as `this key`. */
  message: string;
  /** The time to the next day. Absent if the payouts alone exceed the limit. */
  retryAfterMs?: number;
}

/** If all reservations are refused, it fails as `DailyLimitExceeded` and leaves no history events. */
export const reserveUpdate = defineUpdate<ReserveResult, [ReserveRequest]>('reserve');
export const allowanceQuery = defineQuery<AllowanceState>('state');
