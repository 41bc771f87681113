/**
 * The calls to the payments service as activities: one call of the client each, but where the second follows from the
 * first: a quote from its account check, the detail from the result.
 */
import { ApplicationFailure, activityInfo } from '@temporalio/activity';
import { accountProblem } from '../../domain/account-check.ts';
import type { SendPolicy } from '../../domain/payout.ts';
import type { TradeKey } from '../../domain/provider-records.ts';
import { finalStatus } from '../../domain/trade-verdict.ts';
import {
  isTokenRejected,
  OrderNotExistError,
  type PaymentsClient,
  UnauthorisedError,
} from '../../payments/index.ts';
import type { Surroundings } from '../../surroundings/surroundings.ts';
import { createPayout } from '../payout/create-payout.ts';
import { type RunHistories, runsThatMayHaveSent, sentAnotherBody } from '../payout/earlier-runs.ts';
import type { Claim } from '../payout/send-once.ts';
import * as receiving from '../receiving-account/open-receiving-account.ts';
import { RecentAccounts } from '../receiving-account/recent-accounts.ts';
import { optionsOf } from './caller-options.ts';
import { mapped } from './failures.ts';
import { withHeartbeats } from './heartbeats.ts';
import { probeService } from './probe-service.ts';
import type { Caller, ServiceActivities } from './types.ts';

export interface ServiceDependencies {
  environment: string;
  app: string;
  client: PaymentsClient;
  histories: RunHistories;
  claim: Claim;
  policy: SendPolicy;
  surroundings: Surroundings;
}

/** The activities of one application's queue. */
export function serviceActivities({
  environment,
  app,
  client,
  histories,
  claim,
  policy,
  surroundings,
}: ServiceDependencies): ServiceActivities {
  const { clock, random } = surroundings;
  const sends = { client, claim, policy, surroundings };
  const call = <T>(caller: Caller, work: () => Promise<T>): Promise<T> => {
    refuseOtherPlaces(caller, environment, app);
    return withHeartbeats(clock, () => mapped(random, work));
  };
  const read = <T>(caller: Caller, work: () => Promise<T>): Promise<T> => call(caller, () => onceMore(work));
  const recent = new RecentAccounts(clock);
  const accounts = (caller: Caller, clientId: string, currency: string) =>
    // A user's token may show other accounts than the application's.
    recent.usable(JSON.stringify([caller.openId, clientId]), currency, () =>
      onceMore(() => client.accounts({ clientId }, optionsOf(caller))),
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
        const quote = await onceMore(() => client.quote(request, optionsOf(caller)));
        return { kind: 'quote', quote };
      }),
    // Without `call`: its heartbeats would say nothing, and this activity's one heartbeat says that it may send.
    createPayout: (caller, create) => {
      refuseOtherPlaces(caller, environment, app);
      return createPayout(sends, caller, create);
    },
    confirmOrder: (caller, { key, workflowId, request }) =>
      read(caller, async () => {
        const runId = activityInfo().workflowExecution?.runId ?? '';
        const trade = await result(caller, key);
        const { recoveredAtMs, repeatedCreate } = policy;
        const senders = await runsThatMayHaveSent(
          histories,
          workflowId,
          runId,
          'createPayout',
          recoveredAtMs,
        );
        const earlierSend = senders.length > 0;
        if (trade) {
          const otherBody = await sentAnotherBody(histories, workflowId, senders, request);
          return { exists: true, trade, otherBody, earlierSend, runId };
        }
        return { exists: false, mayRepeat: repeatedCreate === 'safe', recoveredAtMs, earlierSend, runId };
      }),
    fetchOrder: (caller, orderId) => read(caller, () => client.payoutOrder(orderId, optionsOf(caller))),
    probeService: (caller, question) => call(caller, () => probeService(client, question, surroundings)),
    fetchTradeWithDetail: (caller, key) =>
      call(caller, async () => {
        const trade = await onceMore(() => result(caller, key));
        if (!trade || !finalStatus(trade)) return { trade };
        // Whatever went wrong, the workflow asks for it by itself, with the patience that this needs.
        return { trade, detail: await onceMore(() => detail(caller, key)).catch(() => undefined) };
      }),
    fetchTradeDetail: (caller, key) => read(caller, () => detail(caller, key)),
    openReceivingAccount: (caller, open) =>
      call(caller, () => receiving.openReceivingAccount(sends, caller, open)),
    listReceivingAccounts: (caller, which) =>
      read(caller, () => receiving.listReceivingAccounts(client, caller, which)),
    askWhetherOpened: (caller, which) =>
      read(caller, () => receiving.askWhetherOpened(sends, histories, caller, which)),
    fetchReceivingBalance: (caller, { payerId, currency }) =>
      read(caller, () => client.receivingAccountBalance(payerId, currency, optionsOf(caller))),
    fetchReceivingDetail: (caller, accountId) =>
      read(caller, () => receiving.receivingAccountDetail(client, caller, accountId)),
  };
}

/** A payout of another environment or application must never be paid from here, however it got into this queue. */
function refuseOtherPlaces(caller: Caller, environment: string, app: string): void {
  if (caller.environment === environment && caller.app === app) return;
  throw ApplicationFailure.create({
    type: 'WRONG_WORKER',
    message: `this worker serves ${app} of ${environment}, the call is for ${caller.app} of ${caller.environment}`,
  });
}

/** Reads only: one whose token was not accepted is asked once more, with the renewed one (H44). A 403 would come again. */
async function onceMore<T>(work: () => Promise<T>): Promise<T> {
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
