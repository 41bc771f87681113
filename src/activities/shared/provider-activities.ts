/** The calls to the provider as activities. Two calls in one only where the second follows from the first. */
import { activityInfo } from '@temporalio/activity';
import { clientPair } from '../../contract/ids.ts';
import type { Quote, QuoteMeaning, QuoteRequest, TradeKey } from '../../contract/provider-records.ts';
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
import type { ClientPairs } from '../payout/client-pairs.ts';
import { type CreateDependencies, createPayout } from '../payout/create-payout.ts';
import { type RunHistories, runsThatMayHaveSent, sendsOf, sentAnotherBody } from '../payout/earlier-runs.ts';
import { refusedQuote } from '../payout/refused-quote.ts';
import * as receiving from '../receiving-account/open-receiving-account.ts';
import { RecentAccounts } from '../receiving-account/recent-accounts.ts';
import { type CallerOptions as Options, optionsOf, requireHere, withHeartbeats } from './execution.ts';
import { mapped, nullOn } from './failures.ts';
import { settingsMissing } from './lease-looks.ts';
import { probeProvider } from './probe-provider.ts';
import type { Caller, ProviderActivities } from './types.ts';

export interface ProviderDependencies extends CreateDependencies {
  environment: string;
  app: string;
  histories: RunHistories;
  pairs: ClientPairs;
  /** `PAYMENTS_QUOTE_CODES`. */
  quoteCodes: ReadonlyMap<string, QuoteMeaning>;
}

export function providerActivities(dependencies: ProviderDependencies): ProviderActivities {
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
    checkAccount: (caller, clientId, currency) =>
      currency === undefined
        ? read(caller, (options) => client.accounts({ clientId }, options))
        : call(caller, (options) => accounts(clientId, currency, options)),
    quotePayout: (caller, request) => read(caller, (options) => client.quote(request, options)),
    quoteForClient: (caller, clientId, request) =>
      call(caller, async (options) => {
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
    createPayout: (caller, create) => {
      here(caller);
      return createPayout(dependencies, caller, create);
    },
    confirmOrder: (caller, { key, workflowId, request }) =>
      read(caller, async (options) => {
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
    fetchOrder: (caller, orderId) => read(caller, (options) => client.payoutOrder(orderId, options)),
    probeProvider: (caller, target) => call(caller, () => probeProvider(client, target, runtime)),
    fetchTradeWithDetail: (caller, key) =>
      call(caller, async (options) => {
        const trade = await retryOnce(() => result(key, options));
        if (!trade || !finalStatus(trade)) return { trade };
        // On any error, the workflow fetches the detail itself, with more retries.
        return { trade, detail: await retryOnce(() => detail(key, options)).catch(() => undefined) };
      }),
    fetchTradeDetail: (caller, key) => read(caller, (options) => detail(key, options)),
    openReceivingAccount: (caller, open) =>
      call(caller, (options) => receiving.openReceivingAccount(dependencies, options, open)),
    listReceivingAccounts: (caller, which) =>
      read(caller, (options) =>
        receiving.listReceivingAccounts({ client, policy: known(policy) }, histories, options, which),
      ),
    confirmAccount: (caller, which) =>
      read(caller, (options) =>
        receiving.confirmAccount({ client, policy: known(policy) }, histories, options, which),
      ),
    fetchReceivingBalance: (caller, { payerId, currency }) =>
      read(caller, (options) => client.receivingAccountBalance(payerId, currency, options)),
    fetchReceivingDetail: (caller, accountId) =>
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
