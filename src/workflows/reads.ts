/**
 * Reads for people. Only workers call the provider, so callers and operators read through these workflows. They move no
 * money and keep nothing.
 */
import type { Caller, ProviderActivities } from '../activities/shared/types.ts';
import type {
  CallIdentity,
  ProbeResult,
  ProbeTarget,
  QuotedPayout,
  WorkerDescription,
} from '../contract/workflows.ts';
import type { PayoutRequest } from '../domain/payout.ts';
import type { ClientAccounts, OpaqueRecord, ReceivingAccountBalance } from '../domain/provider-records.ts';
import { quoteProblem } from '../domain/quote-check.ts';
import { asked, local } from './shared/calls.ts';

/** Quotes a payout and creates nothing; the quote's lock expires unused. */
export async function payoutQuote(request: PayoutRequest): Promise<QuotedPayout> {
  const plan = await local.prepareQuote(request);
  const { payerId, type, instructedAmount, originCurrency, targetCurrency } = plan.request;
  const quote = await asked(plan.calls, 'quotes a payout').quotePayout(plan.caller, {
    payerId,
    type,
    instructedAmount,
    originCurrency,
    targetCurrency,
  });
  const problem = quoteProblem(plan.request, quote);
  return { quote, ...(problem && { problem }) };
}

/** The client's accounts; null if it has none. */
export function accountQuery(question: CallIdentity & { clientId: string }): Promise<ClientAccounts | null> {
  return read(question, "queries a client's accounts", (calls, caller) =>
    calls.checkAccount(caller, question.clientId),
  );
}

/** What a payer has received in one currency, and the accounts for it. */
export function receivingBalanceQuery(
  question: CallIdentity & { payerId: string; currency: string },
): Promise<ReceivingAccountBalance> {
  const { payerId, currency } = question;
  return read(question, 'queries a receiving balance', (calls, caller) =>
    calls.fetchReceivingBalance(caller, { payerId, currency }),
  );
}

/** One receiving account as the provider describes it; null if it knows no such account. */
export function receivingDetailQuery(
  question: CallIdentity & { accountId: string },
): Promise<OpaqueRecord | null> {
  return read(question, 'queries a receiving account', (calls, caller) =>
    calls.fetchReceivingDetail(caller, question.accountId),
  );
}

/** Which of the spec's open points hold for the provider that this worker calls. */
export function serviceProbe(question: CallIdentity & ProbeTarget): Promise<ProbeResult> {
  return read(question, 'probes the open points of the spec', (calls, caller) =>
    calls.probeService(caller, question),
  );
}

/**
 * Describes the worker that runs it. The worker had to decode `from`, and the caller has to decode the answer, so each
 * side holds the key that the other one encrypts with.
 */
export async function workerProbe(from: string): Promise<WorkerDescription & { from: string }> {
  return { ...(await local.lookAtWorker()), from };
}

async function read<T>(
  { app, openId }: CallIdentity,
  summary: string,
  call: (calls: ProviderActivities, caller: Caller) => Promise<T>,
): Promise<T> {
  const { caller, calls } = await local.prepareRead(app, openId);
  return call(asked(calls, summary), caller);
}
