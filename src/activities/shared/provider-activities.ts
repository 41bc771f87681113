/**
 * The calls to the provider as activities. Most are one call; two calls only where the second follows from the first: a
 * quote from its account check, the detail from the result.
 */
import { activityInfo } from '@temporalio/activity';
import { accountProblem } from '../../domain/account-check.ts';
import type { TradeKey } from '../../domain/provider-records.ts';
import { finalStatus } from '../../domain/trade-verdict.ts';
import { isTokenRejected, OrderNotExistError, UnauthorisedError } from '../../payments/index.ts';
import { type CreateDependencies, createPayout } from '../payout/create-payout.ts';
import { type RunHistories, runsThatMayHaveSent, sentAnotherBody } from '../payout/earlier-runs.ts';
import * as receiving from '../receiving-account/open-receiving-account.ts';
import { RecentAccounts } from '../receiving-account/recent-accounts.ts';
import { optionsOf, requireHere, withHeartbeats } from './execution.ts';
import { mapped } from './failures.ts';
import { probeProvider } from './probe-provider.ts';
import type { Caller, ProviderActivities } from './types.ts';

export interface ProviderDependencies extends CreateDependencies {
  environment: string;
  app: string;
  histories: RunHistories;
}

/** The activities of one application's queue. */
export function providerActivities(dependencies: ProviderDependencies): ProviderActivities {
  const { environment, app, client, histories, policy, surroundings } = dependencies;
  const { clock, random } = surroundings;
  const here = (caller: Caller) =>
    requireHere({ environment, app }, { environment: caller.environment, app: caller.app });
  const call = <T>(caller: Caller, work: () => Promise<T>): Promise<T> => {
    here(caller);
    return withHeartbeats(clock, () => mapped(random, work));
  };
  const read = <T>(caller: Caller, work: () => Promise<T>): Promise<T> => call(caller, () => retryOnce(work));
  const recent = new RecentAccounts(clock);
  const accounts = (caller: Caller, clientId: string, currency: string) =>
    // A user's token may show other accounts than the application's.
    recent.usable(JSON.stringify([caller.openId, clientId]), currency, () =>
      retryOnce(() => client.accounts({ clientId }, optionsOf(caller))),
    );
  const result = (caller: Caller, key: TradeKey) => orNull(() => client.tradeResult(key, optionsOf(caller)));
  const detail = (caller: Caller, key: TradeKey) => orNull(() => client.tradeDetail(key, optionsOf(caller)));

  return {
    checkAccount: (caller, clientId, currency) =>
      currency === undefined
        ? read(caller, () => client.accounts({ clientId }, optionsOf(caller)))
        : call(caller, () => accounts(caller, clientId, currency)),
    quotePayout: (caller, request) => read(caller, () => client.quote(request, optionsOf(caller))),
    quoteForClient: (caller, clientId, request) =>
      call(caller, async () => {
        const { originCurrency } = request;
        const problem = accountProblem(await accounts(caller, clientId, originCurrency), originCurrency);
        if (problem) return { kind: 'account-problem', problem };
        const quote = await retryOnce(() => client.quote(request, optionsOf(caller)));
        return { kind: 'quote', quote };
      }),
    // Without `call`: the only heartbeat of this activity means that it may send.
    createPayout: (caller, create) => {
      here(caller);
      return createPayout(dependencies, caller, create);
    },
    confirmOrder: (caller, { key, workflowId, request }) =>
      read(caller, async () => {
        const runId = activityInfo().workflowExecution?.runId ?? '';
        const trade = await result(caller, key);
        const { recoveredAtMs, repeatedCreate } = policy;
        const own = { workflowId, runId };
        const senders = await runsThatMayHaveSent(histories, own, 'createPayout', recoveredAtMs);
        const earlierSend = senders.length > 0;
        if (trade) {
          const otherBody = await sentAnotherBody(histories, workflowId, senders, request);
          return { exists: true, trade, otherBody, earlierSend, runId };
        }
        return { exists: false, mayRepeat: repeatedCreate === 'safe', recoveredAtMs, earlierSend, runId };
      }),
    fetchOrder: (caller, orderId) => read(caller, () => client.payoutOrder(orderId, optionsOf(caller))),
    probeService: (caller, target) => call(caller, () => probeProvider(client, target, surroundings)),
    fetchTradeWithDetail: (caller, key) =>
      call(caller, async () => {
        const trade = await retryOnce(() => result(caller, key));
        if (!trade || !finalStatus(trade)) return { trade };
        // On any error, the workflow fetches the detail itself, with more retries.
        return { trade, detail: await retryOnce(() => detail(caller, key)).catch(() => undefined) };
      }),
    fetchTradeDetail: (caller, key) => read(caller, () => detail(caller, key)),
    openReceivingAccount: (caller, open) =>
      call(caller, () => receiving.openReceivingAccount(dependencies, caller, open)),
    listReceivingAccounts: (caller, which) =>
      read(caller, () => receiving.listReceivingAccounts(client, caller, which)),
    askWhetherOpened: (caller, which) =>
      read(caller, () => receiving.askWhetherOpened(dependencies, histories, caller, which)),
    fetchReceivingBalance: (caller, { payerId, currency }) =>
      read(caller, () => client.receivingAccountBalance(payerId, currency, optionsOf(caller))),
    fetchReceivingDetail: (caller, accountId) =>
      read(caller, () => receiving.receivingAccountDetail(client, caller, accountId)),
  };
}

/** For reads only: repeats a read whose token was rejected, with the renewed token (H44). A 403 would come again. */
async function retryOnce<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof UnauthorisedError && isTokenRejected(error)) return work();
    throw error;
  }
}

async function orNull<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof OrderNotExistError) return null;
    throw error;
  }
}
