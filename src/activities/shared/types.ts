/** The arguments and results of activities. Types only, so that workflows can import them. */

import type { EventType } from '../../contract/codes.ts';
import type { Reason } from '../../contract/payout.ts';
import type { CheckedPayoutRequest } from '../../contract/payout-request.ts';
import type * as provider from '../../contract/provider-records.ts';
import type { LeaseTerm, ReleasedLease } from '../../contract/rate-limit.ts';
import type { CheckedReceivingAccountRequest } from '../../contract/receiving-account.ts';
import type { Grant, TokenOwner } from '../../contract/tokens.ts';
import type { ProbeResult, ProbeTarget, WorkerDescription } from '../../contract/workflows.ts';
import type { Clearance, PayoutSettings } from '../../domain/payout-record.ts';
import type { FollowUpPlan } from '../../domain/reconciliation-follow-up.ts';
import type { QuoteSent } from '../../domain/time.ts';

/** On whose behalf a call is made. A worker of another environment or application refuses it. */
export interface Caller {
  environment: string;
  app: string;
  openId?: string | undefined;
}

export interface RunFacts {
  /** The first run of the workflow chain. */
  firstRunId: string;
  isDoubtful: boolean;
  cleared?: Clearance | undefined;
  /** When the first run started, if a restore of Temporal matters. Unix milliseconds. */
  startedAtMs?: number | undefined;
}

export interface SendGuard extends RunFacts {
  /** The deadline of the send, from the activity's start. */
  sendWithinMs: number;
}

export interface CreateOrder extends SendGuard {
  /**
   * Temporal must have scheduled the activity by then, because its schedule-to-start timeout counts from that time. Unix
   * milliseconds, by Temporal's clock.
   */
  scheduleByMs: number;
  order: provider.CreatePayoutRequest;
  clientId: string;
  /** The payout requires an approval, and has it. */
  isApproved: boolean;
  /** The caller who started the payout, if its name was recorded. */
  startedBy?: unknown;
  /** What the sender must know, if the payout runs on a newer version: see `PayoutSettings`. */
  requires?: readonly string[] | undefined;
}

export type NothingSent = {
  kind: 'not-sent';
  cause: /** The provider could not be reached, or the call's turn did not come in time. */
    | 'unreachable'
    /** The workflow task took so long that the lock of the create may be over. */
    | 'too-late'
    /** An earlier run may have sent it. */
    | 'earlier-run'
    /** Temporal was restored after this payout started (H53). */
    | 'restored'
    /** The payout started soon after a restore: a lost run may have created an order that is not visible yet (H53). */
    | 'lost-run'
    /** An earlier attempt in this run may have sent it. */
    | 'may-have-been-sent'
    /** Immediately before the send, the provider answered that the order exists. */
    | 'exists'
    /** Immediately before the send, the provider gave no usable answer. */
    | 'unconfirmed'
    /** An operator has paused the application, or nobody has set its shared settings. */
    | 'paused'
    /** The shared settings require an approval, and the payout has asked for none. */
    | 'unapproved';
};

export type QuoteAnswer =
  | ({ kind: 'quote'; quote: provider.Quote } & QuoteSent)
  | { kind: 'account-problem'; problem: Reason }
  /** The provider refused the account check or the quote. Without a meaning, it may accept the same request later. */
  | { kind: 'refused'; meaning?: provider.QuoteMeaning; message: string };

/** The result of an order, and its detail if the result is final. */
export interface TradeAnswer {
  /** Null: the provider answers that the order does not exist. */
  trade: provider.TradeResult | null;
  /** Undefined: not requested, or no usable answer. Null: the provider answers that there is none. */
  detail?: provider.TradeDetail | null | undefined;
}

/** The result of a create. If the activity fails instead, the outcome is unknown. */
export type CreateAnswer =
  | { kind: 'created'; order: provider.PayoutOrder }
  /** The provider answered a code of `PAYMENTS_CREATE_CODES`. */
  | { kind: 'not-created'; meaning: provider.CreateMeaning; message: string }
  /** Our own check refused the body. Nothing was sent. */
  | { kind: 'invalid'; message: string }
  | NothingSent;

export interface Question {
  key: provider.TradeKey;
  /** The activity searches the other runs of this workflow id for a create. */
  workflowId: string;
  request: CheckedPayoutRequest;
}

/** What the other runs of a workflow id may have sent: creates, or requests for an account. */
export interface EarlierSends {
  /** Another run, or a run that a restored Temporal has lost, may have sent (H53). */
  earlierSend: boolean;
  /** When the last send of another run was over at the latest. Unix milliseconds. */
  lastSendByMs?: number | undefined;
}

export type Confirmation = EarlierSends & { runId: string } & (
    | {
        exists: true;
        trade: provider.TradeResult;
        /** A run that may have created the order started with another body. */
        otherBody: boolean;
      }
    | {
        exists: false;
        /** A trade query under this client can show an order of this payer, so "order not exist" means something (H235). */
        isPairKnown: boolean;
        /** The provider is known to refuse a repeated create (`PAYMENTS_REPEATED_CREATE=safe`). */
        mayRepeat: boolean;
        recoveredAtMs?: number | undefined;
      }
  );

export interface OpenAccount extends SendGuard {
  request: provider.ReceivingAccountBody;
}

/** The result of an opening. If the activity fails instead, the outcome is unknown. */
export type OpenAnswer =
  | { kind: 'opened'; account: provider.OpaqueRecord }
  /** `isCertain`: by code and status, or by our own check. Otherwise the workflow searches the list of accounts first. */
  | { kind: 'refused'; isCertain: boolean; message: string }
  /** The provider says that it did not process the call: because of the rate limit or the token. */
  | { kind: 'busy'; message: string }
  | NothingSent;

/** The provider lists accounts by payer and currency. */
export interface ListedAccounts {
  payerId: string;
  currency: string;
}

/** The opening to confirm. */
export interface OpeningToConfirm extends ListedAccounts {
  workflowId: string;
  /** When the workflow started. Unix milliseconds. */
  startedAtMs: number;
}

export interface AccountConfirmation extends EarlierSends {
  /** Null: the provider refuses to list accounts, or another run may have opened one of them. */
  listed: string[] | null;
  /** Soon after a restore of Temporal: an account that a lost run opened may not be listed yet. */
  mayStillAppear: boolean;
  runId: string;
  recoveredAtMs?: number | undefined;
}

/** The calls to the provider, on the application's own queue. One call each, unless stated otherwise. */
export interface ProviderActivities {
  /** With `currency`, may return an answer of the last five minutes that shows a usable account in it. */
  checkAccount(caller: Caller, clientId: string, currency?: string): Promise<provider.ClientAccounts | null>;
  quotePayout(caller: Caller, request: provider.QuoteRequest): Promise<provider.Quote>;
  /** One call, or two if the account was not checked in the last five minutes. */
  quoteForClient(caller: Caller, clientId: string, request: provider.QuoteRequest): Promise<QuoteAnswer>;
  createPayout(caller: Caller, create: CreateOrder): Promise<CreateAnswer>;
  confirmOrder(caller: Caller, question: Question): Promise<Confirmation>;
  fetchOrder(caller: Caller, orderId: string): Promise<provider.PayoutOrder>;
  /** One call, or two if the result is final. Never fails because of the detail. */
  fetchTradeWithDetail(caller: Caller, key: provider.TradeKey): Promise<TradeAnswer>;
  fetchTradeDetail(caller: Caller, key: provider.TradeKey): Promise<provider.TradeDetail | null>;
  openReceivingAccount(caller: Caller, open: OpenAccount): Promise<OpenAnswer>;
  /** Null: the provider refuses to list accounts. */
  listReceivingAccounts(caller: Caller, which: ListedAccounts): Promise<string[] | null>;
  confirmAccount(caller: Caller, which: OpeningToConfirm): Promise<AccountConfirmation>;
  fetchReceivingBalance(caller: Caller, which: ListedAccounts): Promise<provider.ReceivingAccountBalance>;
  /** Null: the provider answers that there is no such account. */
  fetchReceivingDetail(caller: Caller, accountId: string): Promise<provider.OpaqueRecord | null>;
  /** Several harmless reads that check the open points of the specification. */
  probeProvider(caller: Caller, target: ProbeTarget): Promise<ProbeResult>;
}

/** For whom, on which queue and how long a single read is called. */
export interface ReadPlan {
  caller: Caller;
  calls: Pick<PayoutSettings, 'apiQueue' | 'callTimeoutMs'>;
}

export interface TokenPlan {
  callTimeoutMs: number;
  /** See `PayoutSettings`. */
  eventTypes?: EventType[];
}

export interface RefreshRequest {
  /** Sealed. */
  refresh: string;
  lane: 'urgent' | 'due';
  /** An earlier activity with this refresh token ended without an answer. It may have used up the token. */
  triedBefore: boolean;
}

/** They return sealed tokens, and keep the access token in the memory of the worker. */
export interface TokenActivities {
  fetchApplicationToken(owner: TokenOwner): Promise<Grant>;
  /** If another run has already obtained a newer grant, returns that one and sends nothing. */
  refreshUserToken(owner: TokenOwner, request: RefreshRequest): Promise<Grant>;
}

export interface RecallActivities {
  /** The newest grant of all other runs of this renewal; null if there is none. */
  recallGrant(owner: TokenOwner): Promise<Grant | null>;
}

export interface AuthorizationActivities {
  /** Exchanges the code and hands the tokens over to the user's renewal. Does not return them. */
  exchangeCode(owner: TokenOwner, sealedCode: string): Promise<{ openId: string }>;
}

export interface LeaseActivities {
  /** Runs while this process owns the lease. Returns what the next owner needs. */
  holdLease(term: LeaseTerm): Promise<ReleasedLease>;
}

/** The id of a workflow, and the environment in its memo. */
export interface StartFacts {
  workflowId: string;
  environment?: unknown;
  /** The caller, if its name was recorded. */
  startedBy?: unknown;
}

export interface Prepared<Request> {
  request: Request;
  settings: PayoutSettings;
}

export type EarlierSendCause = 'restored' | 'lost-run' | 'earlier-run' | null;

export interface PauseActivities {
  /** Retried while the application is paused, for an hour at most: whether the pause has ended. */
  awaitResume(caller: Caller): Promise<boolean>;
}

/** They make no call. They fail as `InvalidPayoutRequest` on bad input. */
export interface CheckActivities {
  prepareRead(app: unknown, openId?: unknown): Promise<ReadPlan>;
  describeWorker(from: string): Promise<WorkerDescription & { from: string }>;
  prepareToken(owner: unknown): Promise<TokenPlan>;
  /** `link` lacks `state`, which is a secret of the browser and the API server. */
  prepareAuthorization(owner: unknown): Promise<TokenPlan & { link: string }>;
  prepareQuote(request: unknown): Promise<ReadPlan & { request: CheckedPayoutRequest }>;
  preparePayout(request: unknown, start: StartFacts): Promise<Prepared<CheckedPayoutRequest>>;
  prepareReceivingAccount(
    request: unknown,
    start: StartFacts,
  ): Promise<Prepared<CheckedReceivingAccountRequest>>;
  prepareFollowUp(request: unknown): Promise<FollowUpPlan>;
  /** Whether an earlier run, or a run that a restored Temporal has lost, may have sent the create. */
  findEarlierSend(caller: Caller, facts: RunFacts): Promise<EarlierSendCause>;
}
