/** Reads for callers and operators: only workers call the provider. */
import type { Caller } from '../activities/shared/execution.ts';
import type { ProviderActivities } from '../activities/shared/provider-activities.ts';
import type { PayoutRequest } from '../contract/payout-request.ts';
import type { CallIdentity, ProbeTarget, QuotedPayout, WorkerDescription } from '../contract/workflows.ts';
import { quoteProblem } from '../domain/payout-quote.ts';
import { asked, checks, orBadInput } from './shared/calls.ts';

/** Quotes a payout and creates nothing; the quote's lock expires unused. */
export async function payoutQuote(request: PayoutRequest): Promise<QuotedPayout> {
  const { caller, calls, request: checked } = await orBadInput(checks.prepareQuote(request));
  const { payerId, type, instructedAmount, originCurrency, targetCurrency } = checked;
  const wanted = { payerId, type, instructedAmount, originCurrency, targetCurrency };
  const quote = await asked(calls, 'beginning', 'quotes a payout').quotePayout(caller, wanted);
  const problem = quoteProblem(checked, quote);
  return { quote, ...(problem && { problem }) };
}

/** The client's accounts; null if it has none. */
export const accountQuery = read(
  "queries a client's accounts",
  (calls, caller, { clientId }: { clientId: string }) => calls.checkAccount(caller, clientId),
);

/** What a payer has received in one currency, and the accounts for it. */
export const receivingBalanceQuery = read(
  'queries a receiving balance',
  (calls, caller, { payerId, currency }: { payerId: string; currency: string }) =>
    calls.fetchReceivingBalance(caller, { payerId, currency }),
);

/** One receiving account as the provider describes it; null if it knows no such account. */
export const receivingDetailQuery = read(
  'queries a receiving account',
  (calls, caller, { accountId }: { accountId: string }) => calls.fetchReceivingDetail(caller, accountId),
);

/** Which of the spec's open points hold for the provider that this worker calls. */
export const providerProbe = read(
  'probes the open points of the spec',
  (calls, caller, question: CallIdentity & ProbeTarget) => calls.probeProvider(caller, question),
);

/**
 * Describes a worker. The worker had to decode `from`, and the caller has to decode the answer, so each side holds the key
 * that the other one encrypts with.
 */
export async function workerProbe(from: string): Promise<WorkerDescription & { from: string }> {
  return checks.describeWorker(from);
}

/** A workflow that makes one call. */
function read<Question, Answer>(
  summary: string,
  call: (calls: ProviderActivities, caller: Caller, question: CallIdentity & Question) => Promise<Answer>,
) {
  return async (question: CallIdentity & Question): Promise<Answer> => {
    const { caller, calls } = await orBadInput(checks.prepareRead(question.app, question.openId));
    return call(asked(calls, 'beginning', summary), caller, question);
  };
}
