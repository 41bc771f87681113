/** What workflows and activities say to each other. Types only, so that workflows can import them. */
import type { ProbeResult, ProbeTarget, WorkerDescription } from '../../contract/workflows.ts';
import type { FollowUpPlan } from '../../domain/follow-up.ts';
import type { CheckedPayoutRequest, PayoutSettings, Reason } from '../../domain/payout.ts';
import type { Clearance } from '../../domain/payout-record.ts';
import type {
  ClientAccounts,
  CreateMeaning,
  CreatePayoutRequest,
  OpaqueRecord,
  PayoutOrder,
  Quote,
  QuoteRequest,
  ReceivingAccountBalance,
  ReceivingAccountRequest,
  TradeDetail,
  TradeKey,
  TradeResult,
} from '../../domain/provider-records.ts';
import type { LeaseTerm, ReleasedLease } from '../../domain/rate-limit-lease.ts';
import type { CheckedOpeningRequest } from '../../domain/receiving-account.ts';
import type { Grant, TokenOwner } from '../../domain/token-record.ts';

/** For whom a call is made. A worker of another environment refuses it. */
export interface Caller {
  environment: string;
  app: string;
  openId?: string | undefined;
}

export interface RunFacts {
  /** The first run of the workflow chain. */
  firstRunId: string;
  /** The start does not prove that the payout is new (contract: doubtful start). */
  isDoubtful: boolean;
  cleared?: Clearance | undefined;
  /** When the first run started, where a restore of Temporal matters. Unix milliseconds. */
  startedAtMs?: number | undefined;
}

/** What the activity needs to know to send at most once. */
export interface SendGuard extends RunFacts {
  /** Counted from the activity's start: later than this nothing is sent. */
  sendWithinMs: number;
}

export interface CreateOrder extends SendGuard {
  order: CreatePayoutRequest;
  clientId: string;
}

/** Nothing left this process. */
export type NothingSent = {
  kind: 'not-sent';
  why: /** The provider could not be reached, or the call's turn did not come in time. */
    | 'unreachable'
    /** An earlier run may have sent it. */
    | 'earlier-run'
    /** Temporal was restored since this payout started (H53). */
    | 'restored'
    /** It started soon after: a run that Temporal has lost may have created an order that is not visible yet (H53). */
    | 'forgotten'
    /** This very run may have sent it: the activity runs a second time. */
    | 'may-have-been-sent'
    /** The provider was asked right before the send: it knows the order. */
    | 'exists'
    /** The provider was asked right before the send, and gave no usable answer. */
    | 'unconfirmed';
};

/** A quote, or why none was asked for: the client's account cannot pay. */
export type QuoteAnswer = { kind: 'quote'; quote: Quote } | { kind: 'account-problem'; problem: Reason };

/** How an order stands, and what was paid where that is its end. */
export interface TradeAnswer {
  /** Null: the service says that the order does not exist. */
  trade: TradeResult | null;
  /** Absent: not asked for, or no answer came. Null: the service says that there is none. */
  detail?: TradeDetail | null | undefined;
}

/** What became of a create. A failure instead of an answer means: it may have been sent, and nothing is known. */
export type CreateAnswer =
  | { kind: 'created'; order: PayoutOrder }
  /** The provider answered a code that is configured to mean "not created". */
  | { kind: 'not-created'; meaning: CreateMeaning; message: string }
  /** Our own check refused the body; nothing was sent. */
  | { kind: 'invalid'; message: string }
  | NothingSent;

/** Does the order exist? */
export interface Question {
  key: TradeKey;
  /** The other runs of this workflow id are searched for a create. */
  workflowId: string;
  request: CheckedPayoutRequest;
}

export type Confirmation = {
  /** The run that asked. */
  runId: string;
  /** Another run has set out to create the order, or may have. */
  earlierSend: boolean;
} & (
  | {
      exists: true;
      trade: TradeResult;
      /** An earlier run that may have created it was started with another body. */
      otherBody: boolean;
    }
  | {
      exists: false;
      /** The provider is known to refuse a repeated create (`PAYMENTS_REPEATED_CREATE=safe`). */
      mayRepeat: boolean;
      recoveredAtMs?: number | undefined;
    }
);

export interface OpenAccount extends SendGuard {
  request: ReceivingAccountRequest;
}

/** What became of an opening. A failure instead of an answer means: sent, and nothing is known. */
export type OpenAnswer =
  | { kind: 'opened'; account: OpaqueRecord }
  /** `surely`: by code and status, or by our own check; else the list of accounts is looked at first. */
  | { kind: 'refused'; surely: boolean; message: string }
  /** The service says that it did not serve the call: too many at once, or its token. */
  | { kind: 'busy'; message: string }
  | NothingSent;

/** Whose accounts: the service lists them by payer and currency. */
export interface ListedAccounts {
  payerId: string;
  currency: string;
}

/** Which opening: the one under this workflow id, that started at this time (Unix milliseconds). */
export interface OpeningInDoubt extends ListedAccounts {
  workflowId: string;
  startedAtMs: number;
}

/** What the service lists (null: it does not say), and whether anybody else may have set out to open the account. */
export interface WhetherOpened {
  listed: string[] | null;
  /** Another run under the id, or one that a restored Temporal has forgotten (H53). */
  earlierSend: boolean;
  /** Temporal was restored a short time before: an account that a forgotten run opened may not be listed yet. */
  mayStillAppear: boolean;
  runId: string;
  recoveredAtMs?: number | undefined;
}

/** One call to the payments service each, where nothing else is said; served by the application's own queue. */
export interface ServiceActivities {
  /** With a `currency`, an answer of the last five minutes that shows a usable account in it is good enough. */
  checkAccount(caller: Caller, clientId: string, currency?: string): Promise<ClientAccounts | null>;
  quotePayout(caller: Caller, request: QuoteRequest): Promise<Quote>;
  /** A quote for a client whose account can pay it. Two calls where the account was not checked a short time ago. */
  quoteForClient(caller: Caller, clientId: string, request: QuoteRequest): Promise<QuoteAnswer>;
  createPayout(caller: Caller, create: CreateOrder): Promise<CreateAnswer>;
  confirmOrder(caller: Caller, question: Question): Promise<Confirmation>;
  fetchOrder(caller: Caller, orderId: string): Promise<PayoutOrder>;
  /** Two calls where the order has ended; a detail that could not be had costs no result. */
  fetchTradeWithDetail(caller: Caller, key: TradeKey): Promise<TradeAnswer>;
  fetchTradeDetail(caller: Caller, key: TradeKey): Promise<TradeDetail | null>;
  openReceivingAccount(caller: Caller, open: OpenAccount): Promise<OpenAnswer>;
  /** The accounts' numbers; null when the service does not say. */
  listReceivingAccounts(caller: Caller, which: ListedAccounts): Promise<string[] | null>;
  askWhetherOpened(caller: Caller, which: OpeningInDoubt): Promise<WhetherOpened>;
  fetchReceivingBalance(caller: Caller, which: ListedAccounts): Promise<ReceivingAccountBalance>;
  /** Null: the service answers that there is no such account. */
  fetchReceivingDetail(caller: Caller, accountId: string): Promise<OpaqueRecord | null>;
  /** Harmless reads that tell which of the specification's open points hold here. */
  probeService(caller: Caller, question: ProbeTarget): Promise<ProbeResult>;
}

/** What a read on behalf of a person needs to know: for whom to call, on which queue, for how long. */
export interface ReadPlan {
  caller: Caller;
  calls: Pick<PayoutSettings, 'apiQueue' | 'callTimeoutMs'>;
}

/** What the configuration says of the token calls of one application. */
export interface TokenPlan {
  callTimeoutMs: number;
}

export interface RefreshRequest {
  /** Sealed. */
  refresh: string;
  line: 'urgent' | 'due';
  /** An earlier activity with this refresh token ended without an answer: it may have used it up. */
  triedBefore: boolean;
}

/** Give tokens sealed; what a worker needs of them stays in its memory. */
export interface TokenActivities {
  fetchApplicationToken(owner: TokenOwner): Promise<Grant>;
  /** A grant with `obtainedAtMs` is one that another run obtained after the one that was to be refreshed: nothing was sent. */
  refreshUserToken(owner: TokenOwner, request: RefreshRequest): Promise<Grant>;
}

export interface RecallActivities {
  /** The newest grant that other runs of this renewal obtained; null when there is none. */
  recallGrant(owner: TokenOwner): Promise<Grant | null>;
}

export interface AuthorizationActivities {
  /** Exchanges the code and hands the tokens to the user's renewal; they never come back here. */
  exchangeCode(owner: TokenOwner, sealedCode: string): Promise<{ openId: string }>;
}

export interface LeaseActivities {
  /** Runs for as long as this process is the lease owner; answers its last words. */
  holdLease(term: LeaseTerm): Promise<ReleasedLease>;
}

/** How a workflow was started: its id, and the environment that its starter meant. */
export interface StartFacts {
  workflowId: string;
  environment?: unknown;
}

export interface Prepared<Request> {
  request: Request;
  settings: PayoutSettings;
}

/** No API call: decides whether the request can be worked on at all. */
export interface LocalActivities {
  /** The application is configured here; else fails as `InvalidPayoutRequest`. */
  prepareRead(app: unknown, openId?: unknown): Promise<ReadPlan>;
  lookAtWorker(): Promise<WorkerDescription>;
  prepareToken(owner: unknown): Promise<TokenPlan>;
  /** The link, without its `state`: that one is a secret between the browser and us. */
  prepareAuthorization(owner: unknown): Promise<TokenPlan & { link: string }>;
  prepareQuote(request: unknown): Promise<ReadPlan & { request: CheckedPayoutRequest }>;
  preparePayout(request: unknown, start: StartFacts): Promise<Prepared<CheckedPayoutRequest>>;
  prepareReceivingAccount(request: unknown, start: StartFacts): Promise<Prepared<CheckedOpeningRequest>>;
  /** When to look, and on which queue. */
  prepareFollowUp(request: unknown): Promise<FollowUpPlan>;
  /** Whether an earlier run, or one that a restored Temporal has forgotten, may have sent the create. */
  doubtAboutEnd(facts: RunFacts): Promise<'restored' | 'forgotten' | 'earlier-run' | null>;
}
