/** Reads for callers and operators: only workers call the provider. */
import type { Principal } from '../activities/shared/execution.ts';
import type { ProviderActivities } from '../activities/shared/provider-activities.ts';
import type { PayoutRequest } from '../contract/payout-request.ts';
import type { CallIdentity, ProbeTarget, QuotedPayout, WorkerDescription } from '../contract/workflows.ts';
import { quoteProblem } from '../domain/payout-quote.ts';
import { asked, type CallSettings, checks, orBadInput } from './shared/calls.ts';
import { startFacts } from './shared/run-facts.ts';

/** Quotes a payout and creates nothing; the quote's lock expires unused. */
export async function payoutQuote(request: PayoutRequest): Promise<QuotedPayout> {
  const { caller: principal, calls, request: checked } = await orBadInput(checks.prepareQuote(request));
  const { payerId, type, instructedAmount, originCurrency, targetCurrency } = checked;
  const wanted = { payerId, type, instructedAmount, originCurrency, targetCurrency };
  const quote = await turnsOf(calls, 'quotes a payout').quotePayout(principal, wanted);
  const problem = quoteProblem(checked, quote);
  return { quote, ...(problem && { problem }) };
}

/** The client's accounts; null if it has none. */
export const accountQuery = read(
  "queries a client's accounts",
  (calls, principal, { clientId }: { clientId: string }) => calls.checkAccount(principal, clientId),
);

/** What a payer has received in one currency, and the accounts for it. */
export const receivingBalanceQuery = read(
  'queries a receiving balance',
  (calls, principal, { payerId, currency }: { payerId: string; currency: string }) =>
    calls.fetchReceivingBalance(principal, { payerId, currency }),
);

/** One receiving account as the provider describes it; null if it knows no such account. */
export const receivingDetailQuery = read(
  'queries a receiving account',
  (calls, principal, { accountId }: { accountId: string }) =>
    calls.fetchReceivingDetail(principal, accountId),
);

/** Which of the spec's open points hold for the provider that this worker calls. */
export const providerProbe = read(
  'probes the open points of the spec',
  (calls, principal, question: CallIdentity & ProbeTarget) => calls.probeProvider(principal, question),
);

/**
 * Describes a worker. The worker had to decode `from`, and the caller has to decode the answer, so each side holds the key
 * that the other one encrypts with.
 */
export async function workerProbe(from: string): Promise<WorkerDescription & { from: string }> {
  return checks.describeWorker(from);
}

/** Callers' reads take turns after all payouts. An operator's read, which names no caller, can't flood. */
function turnsOf(calls: CallSettings, summary: string): ProviderActivities {
  const { startedBy } = startFacts();
  if (startedBy === undefined) return asked(calls, 'beginning', summary);
  return asked({ ...calls, onBehalfOf: `reads\n${startedBy}` }, 'read', summary);
}

/** A workflow that makes one call. */
function read<Question, Found>(
  summary: string,
  call: (
    calls: ProviderActivities,
    principal: Principal,
    question: CallIdentity & Question,
  ) => Promise<Found>,
) {
  return async (question: CallIdentity & Question): Promise<Found> => {
    const { caller: principal, calls } = await orBadInput(checks.prepareRead(question.app, question.openId));
    return call(turnsOf(calls, summary), principal, question);
  };
}
