/** The calls to the provider as activities. Two calls in one only where the second follows from the first. */
import { activityInfo } from '@temporalio/activity';
import type { AgreedQuote } from '../../contract/payout.ts';
import type { CheckedPayoutRequest } from '../../contract/payout-request.ts';
import type {
  Quote,
  QuoteMeaning,
  QuoteRequest,
  TradeDetail,
  TradeKey,
  TradeResult,
} from '../../contract/provider-records.ts';
import type { ProbeTarget } from '../../contract/workflows.ts';
import { accountProblem, quoteRequestOf } from '../../domain/payout-quote.ts';
import type { SendPolicy } from '../../domain/payout-record.ts';
import { finalStatus } from '../../domain/payout-trade.ts';
import type { QuoteSent } from '../../domain/time.ts';
import { hasCode, isTokenRejected } from '../../payments/index.ts';
import { isProven } from '../payout/client-pairs.ts';
import { type CreateDependencies, type CreateOrder, createPayout } from '../payout/create-payout.ts';
import {
  type EarlierSends,
  quotesSent,
  type RunHistories,
  runsThatMayHaveSent,
  sendsOf,
  sentAnotherBody,
} from '../payout/earlier-runs.ts';
import { type QuoteResult, RecentAccounts, refusedQuote } from '../payout/quote-payout.ts';
import * as receiving from '../receiving-account/receiving-account-activities.ts';
import {
  type UserOptions as Options,
  ownRun,
  type Principal,
  requireHere,
  type StartFacts,
  withHeartbeats,
} from './execution.ts';
import { asFailure, nullOn } from './failures.ts';
import { settingsMissing } from './lease-looks.ts';
import type { Prepared } from './preparation.ts';
import { probeProvider } from './probe-provider.ts';

interface ProviderDependencies extends CreateDependencies {
  environment: string;
  app: string;
  histories: RunHistories;
  /** `PAYMENTS_QUOTE_CODES`. */
  quoteCodes: ReadonlyMap<string, QuoteMeaning>;
  /** Refuses bad input. */
  prepare(body: unknown, start: StartFacts): Promise<Prepared<CheckedPayoutRequest>>;
}

/** A checked request, and the first response to its quote. */
export interface Begun {
  prepared: Prepared<CheckedPayoutRequest>;
  quote: QuoteResult;
}

/** The result of an order, and its detail if the result is final. */
export interface TradeLookup {
  /** Null: the provider says that the order doesn't exist. */
  trade: TradeResult | null;
  /** Undefined: not requested, or no usable response. Null: the provider says that there is none. */
  detail?: TradeDetail | null | undefined;
}

interface OrderQuestion {
  key: TradeKey;
  request: CheckedPayoutRequest;
}

export type Confirmation = EarlierSends & {
  runId: string;
  /** Another run has ended with an outcome, which only a person may change (H331). */
  hasOutcome: boolean;
  /** What other runs have sent, or may have. Null: not readable. */
  quotes?: (AgreedQuote | null)[];
} & (
    | {
        exists: true;
        trade: TradeResult;
        /** A run that may have created the order started with another body. */
        otherBody: boolean;
      }
    | {
        exists: false;
        /** A trade query under this client can show an order of this payer, so "order not exist" means something (H235). */
        isPairKnown: boolean;
        /** The provider is known to refuse a repeated create call (`PAYMENTS_REPEATED_CREATE=safe`). */
        mayRepeat: boolean;
        recoveredAtMs?: number | undefined;
      }
  );

export type ProviderActivities = ReturnType<typeof providerActivities>;

/** The calls to the provider, on the application's own queue. One call each, unless stated otherwise. */
export function providerActivities(dependencies: ProviderDependencies) {
  const { environment, app, client, histories, pairs, policy, quoteCodes, runtime } = dependencies;
  const { clock, random } = runtime;
  const call = <T>(principal: Principal, work: (options: Options) => Promise<T>): Promise<T> => {
    requireHere({ environment, app }, principal);
    const { openId } = principal;
    return withHeartbeats(clock, () => work({ openId })).catch((error: unknown) => {
      throw asFailure(error, random);
    });
  };
  const read = <T>(principal: Principal, work: (options: Options) => Promise<T>): Promise<T> =>
    call(principal, (options) => retryOnce(() => work(options)));
  const recent = new RecentAccounts(clock);
  const accounts = (clientId: string, currency: string, options: Options) =>
    // A user's token may show other accounts than the application's.
    recent.usable(JSON.stringify([options.openId, clientId]), currency, () =>
      retryOnce(() => client.accounts({ clientId }, options)),
    );
  const result = (key: TradeKey, options: Options) =>
    nullOn(['ORDER_NOT_EXIST'], client.tradeResult(key, options));
  const detail = (key: TradeKey, options: Options) =>
    nullOn(['ORDER_NOT_EXIST'], client.tradeDetail(key, options));

  /** One call, or two if the account was not checked in the last five minutes. */
  const quoteForClient = (principal: Principal, clientId: string, request: QuoteRequest) =>
    call(principal, async (options): Promise<QuoteResult> => {
      const { originCurrency } = request;
      try {
        const problem = accountProblem(await accounts(clientId, originCurrency, options), originCurrency);
        if (problem) return { kind: 'account-problem', problem };
        return { kind: 'quote', ...(await quoteAndTime(dependencies, request, options)) };
      } catch (error) {
        return refusedQuote(error, quoteCodes);
      }
    });

  return {
    /** The check of a payout's request, then its first quote. */
    beginPayout: async (body: unknown, start: StartFacts): Promise<Begun> => {
      const prepared = await dependencies.prepare(body, start);
      const { request } = prepared;
      const principal = { environment, app: request.app, openId: request.openId };
      return { prepared, quote: await quoteForClient(principal, request.clientId, quoteRequestOf(request)) };
    },
    quoteForClient,
    checkAccount: (principal: Principal, clientId: string) =>
      read(principal, (options) => client.accounts({ clientId }, options)),
    quotePayout: (principal: Principal, request: QuoteRequest) =>
      read(principal, (options) => client.quote(request, options)),
    // Without `call`: the only heartbeat of this activity means that it may send.
    createPayout: (principal: Principal, create: CreateOrder) => {
      requireHere({ environment, app }, principal);
      return createPayout(dependencies, principal, create);
    },
    /** Also searches the other runs of the payout for a create call. */
    confirmOrder: (principal: Principal, { key, request }: OrderQuestion) =>
      read(principal, async (options): Promise<Confirmation> => {
        const own = ownRun();
        const trade = await result(key, options);
        const sending = known(policy);
        const { recoveredAtMs, repeatedCreate } = sending;
        const { senders, hasOutcome } = await runsThatMayHaveSent(
          histories,
          own,
          'createPayout',
          recoveredAtMs,
        );
        const quotes = quotesSent(senders);
        const common = {
          ...sendsOf(senders),
          runId: own.runId,
          hasOutcome,
          ...(quotes.length > 0 && { quotes }),
        };
        if (trade) {
          const otherBody = await sentAnotherBody(histories, own.workflowId, senders, request);
          return { exists: true, trade, otherBody, ...common };
        }
        const mayRepeat = repeatedCreate === 'safe';
        const isPairKnown = await isProven(pairs, sending, environment, request);
        return { exists: false, isPairKnown, mayRepeat, recoveredAtMs, ...common };
      }),
    fetchOrder: (principal: Principal, orderId: string) =>
      read(principal, (options) => client.payoutOrder(orderId, options)),
    /** Several harmless reads that check the open points of the specification. */
    probeProvider: (principal: Principal, target: ProbeTarget) =>
      call(principal, () => probeProvider(client, target, runtime)),
    /** One call, or two if the result is final. Never fails because of the detail. */
    fetchTradeWithDetail: (principal: Principal, key: TradeKey) =>
      call(principal, async (options): Promise<TradeLookup> => {
        const trade = await retryOnce(() => result(key, options));
        if (!trade || !finalStatus(trade)) return { trade };
        // On any error, the workflow fetches the detail itself, with more retries.
        return { trade, detail: await retryOnce(() => detail(key, options)).catch(() => undefined) };
      }),
    fetchTradeDetail: (principal: Principal, key: TradeKey) =>
      read(principal, (options) => detail(key, options)),
    openReceivingAccount: (principal: Principal, open: receiving.OpenAccount) =>
      call(principal, (options) => receiving.openReceivingAccount(dependencies, options, open)),
    /** Null: the provider refuses to list accounts. */
    listReceivingAccounts: (principal: Principal, which: receiving.ListedAccounts) =>
      read(principal, (options) =>
        receiving.listReceivingAccounts({ client, policy: known(policy), histories }, options, which),
      ),
    confirmAccount: (principal: Principal, which: receiving.OpeningToConfirm) =>
      read(principal, (options) =>
        receiving.confirmAccount({ client, policy: known(policy), histories }, options, which),
      ),
    fetchReceivingBalance: (principal: Principal, { payerId, currency }: receiving.ListedAccounts) =>
      read(principal, (options) => client.receivingAccountBalance(payerId, currency, options)),
    /** Null: the provider says that there is no such account. */
    fetchReceivingDetail: (principal: Principal, accountId: string) =>
      read(principal, (options) => nullOn(['REFUSED'], client.receivingAccountDetail(accountId, options))),
  };
}

/** Without shared settings, nobody can say what another run may have sent. */
function known(policy: SendPolicy | undefined): SendPolicy {
  if (policy) return policy;
  throw settingsMissing();
}

/** The quote, and when its request was sent. */
async function quoteAndTime(
  { client, runtime: { clock } }: ProviderDependencies,
  request: QuoteRequest,
  options: Options,
): Promise<{ quote: Quote } & QuoteSent> {
  let [sentAtMs, sentMs] = [clock.wallMs(), clock.nowMs()];
  const beforeSend = () => {
    [sentAtMs, sentMs] = [clock.wallMs(), clock.nowMs()];
  };
  const quote = await retryOnce(() => client.quote(request, { ...options, beforeSend }));
  const { currentAttemptScheduledTimestampMs } = activityInfo();
  return {
    quote,
    sentAtMs: Math.max(sentAtMs, currentAttemptScheduledTimestampMs),
    answeredWithinMs: clock.nowMs() - sentMs,
  };
}

/** For reads only: repeats a read whose token was rejected, with the renewed token (H44). A 403 would come again. */
async function retryOnce<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (hasCode(error, 'UNAUTHORIZED') && isTokenRejected(error)) return work();
    throw error;
  }
}
