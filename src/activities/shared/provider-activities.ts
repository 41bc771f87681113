/** The calls to the provider as activities. Two calls in one only where the second follows from the first. */
import { activityInfo } from '@temporalio/activity';
import { clientPair } from '../../contract/ids.ts';
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
import { accountProblem } from '../../domain/payout-quote.ts';
import type { SendPolicy } from '../../domain/payout-record.ts';
import { finalStatus } from '../../domain/payout-trade.ts';
import type { QuoteSent } from '../../domain/time.ts';
import {
  isTokenRejected,
  OrderNotExistError,
  RefusedError,
  UnauthorizedError,
} from '../../payments/index.ts';
import { type CreateDependencies, type CreateOrder, createPayout } from '../payout/create-payout.ts';
import {
  type ClientPairs,
  type EarlierSends,
  type RunHistories,
  runsThatMayHaveSent,
  sendsOf,
  sentAnotherBody,
} from '../payout/earlier-runs.ts';
import { type QuoteAnswer, RecentAccounts, refusedQuote } from '../payout/quote-payout.ts';
import * as receiving from '../receiving-account/receiving-account-activities.ts';
import {
  type Caller,
  type CallerOptions as Options,
  optionsOf,
  requireHere,
  withHeartbeats,
} from './execution.ts';
import { mapped, nullOn } from './failures.ts';
import { settingsMissing } from './lease-looks.ts';
import { probeProvider } from './probe-provider.ts';

export interface ProviderDependencies extends CreateDependencies {
  environment: string;
  app: string;
  histories: RunHistories;
  pairs: ClientPairs;
  /** `PAYMENTS_QUOTE_CODES`. */
  quoteCodes: ReadonlyMap<string, QuoteMeaning>;
}

/** The result of an order, and its detail if the result is final. */
export interface TradeAnswer {
  /** Null: the provider answers that the order does not exist. */
  trade: TradeResult | null;
  /** Undefined: not requested, or no usable answer. Null: the provider answers that there is none. */
  detail?: TradeDetail | null | undefined;
}

export interface OrderQuestion {
  key: TradeKey;
  /** The activity searches the other runs of this workflow id for a create. */
  workflowId: string;
  request: CheckedPayoutRequest;
}

export type Confirmation = EarlierSends & { runId: string } & (
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
        /** The provider is known to refuse a repeated create (`PAYMENTS_REPEATED_CREATE=safe`). */
        mayRepeat: boolean;
        recoveredAtMs?: number | undefined;
      }
  );

export type ProviderActivities = ReturnType<typeof providerActivities>;

/** The calls to the provider, on the application's own queue. One call each, unless stated otherwise. */
export function providerActivities(dependencies: ProviderDependencies) {
  const { environment, app, client, histories, pairs, policy, quoteCodes, runtime } = dependencies;
  const { clock, random } = runtime;
  const here = (caller: Caller) =>
    requireHere({ environment, app }, { environment: caller.environment, app: caller.app });
  const call = <T>(caller: Caller, work: (options: Options) => Promise<T>): Promise<T> => {
    here(caller);
    return withHeartbeats(clock, () => mapped(random, () => work(optionsOf(caller))));
  };
  const read = <T>(caller: Caller, work: (options: Options) => Promise<T>): Promise<T> =>
    call(caller, (options) => retryOnce(() => work(options)));
  const recent = new RecentAccounts(clock);
  const accounts = (clientId: string, currency: string, options: Options) =>
    // A user's token may show other accounts than the application's.
    recent.usable(JSON.stringify([options.openId, clientId]), currency, () =>
      retryOnce(() => client.accounts({ clientId }, options)),
    );
  const result = (key: TradeKey, options: Options) =>
    nullOn([OrderNotExistError], () => client.tradeResult(key, options));
  const detail = (key: TradeKey, options: Options) =>
    nullOn([OrderNotExistError], () => client.tradeDetail(key, options));

  return {
    /** With `currency`, may return an answer of the last five minutes that shows a usable account in it. */
    checkAccount: (caller: Caller, clientId: string, currency?: string) =>
      currency === undefined
        ? read(caller, (options) => client.accounts({ clientId }, options))
        : call(caller, (options) => accounts(clientId, currency, options)),
    quotePayout: (caller: Caller, request: QuoteRequest) =>
      read(caller, (options) => client.quote(request, options)),
    /** One call, or two if the account was not checked in the last five minutes. */
    quoteForClient: (caller: Caller, clientId: string, request: QuoteRequest) =>
      call(caller, async (options): Promise<QuoteAnswer> => {
        const { originCurrency } = request;
        try {
          const problem = accountProblem(await accounts(clientId, originCurrency, options), originCurrency);
          if (problem) return { kind: 'account-problem', problem };
          return { kind: 'quote', ...(await quoteAndTime(dependencies, request, options)) };
        } catch (error) {
          return refusedQuote(error, quoteCodes);
        }
      }),
    // Without `call`: the only heartbeat of this activity means that it may send.
    createPayout: (caller: Caller, create: CreateOrder) => {
      here(caller);
      return createPayout(dependencies, caller, create);
    },
    confirmOrder: (caller: Caller, { key, workflowId, request }: OrderQuestion) =>
      read(caller, async (options): Promise<Confirmation> => {
        const runId = activityInfo().workflowExecution?.runId ?? '';
        const trade = await result(key, options);
        const { clientPairs, recoveredAtMs, repeatedCreate } = known(policy);
        const own = { workflowId, runId };
        const senders = await runsThatMayHaveSent(histories, own, 'createPayout', recoveredAtMs);
        const sends = sendsOf(senders);
        if (trade) {
          const otherBody = await sentAnotherBody(histories, workflowId, senders, request);
          return { exists: true, trade, otherBody, ...sends, runId };
        }
        const mayRepeat = repeatedCreate === 'safe';
        const isPairKnown =
          clientPairs === 'trusted' || (await pairs.isKnown(clientPair(environment, request)));
        return { exists: false, isPairKnown, mayRepeat, recoveredAtMs, ...sends, runId };
      }),
    fetchOrder: (caller: Caller, orderId: string) =>
      read(caller, (options) => client.payoutOrder(orderId, options)),
    /** Several harmless reads that check the open points of the specification. */
    probeProvider: (caller: Caller, target: ProbeTarget) =>
      call(caller, () => probeProvider(client, target, runtime)),
    /** One call, or two if the result is final. Never fails because of the detail. */
    fetchTradeWithDetail: (caller: Caller, key: TradeKey) =>
      call(caller, async (options): Promise<TradeAnswer> => {
        const trade = await retryOnce(() => result(key, options));
        if (!trade || !finalStatus(trade)) return { trade };
        // On any error, the workflow fetches the detail itself, with more retries.
        return { trade, detail: await retryOnce(() => detail(key, options)).catch(() => undefined) };
      }),
    fetchTradeDetail: (caller: Caller, key: TradeKey) => read(caller, (options) => detail(key, options)),
    openReceivingAccount: (caller: Caller, open: receiving.OpenAccount) =>
      call(caller, (options) => receiving.openReceivingAccount(dependencies, options, open)),
    /** Null: the provider refuses to list accounts. */
    listReceivingAccounts: (caller: Caller, which: receiving.ListedAccounts) =>
      read(caller, (options) =>
        receiving.listReceivingAccounts({ client, policy: known(policy) }, histories, options, which),
      ),
    confirmAccount: (caller: Caller, which: receiving.OpeningToConfirm) =>
      read(caller, (options) =>
        receiving.confirmAccount({ client, policy: known(policy) }, histories, options, which),
      ),
    fetchReceivingBalance: (caller: Caller, { payerId, currency }: receiving.ListedAccounts) =>
      read(caller, (options) => client.receivingAccountBalance(payerId, currency, options)),
    /** Null: the provider answers that there is no such account. */
    fetchReceivingDetail: (caller: Caller, accountId: string) =>
      read(caller, (options) =>
        nullOn([RefusedError], () => client.receivingAccountDetail(accountId, options)),
      ),
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
    if (error instanceof UnauthorizedError && isTokenRejected(error)) return work();
    throw error;
  }
}
