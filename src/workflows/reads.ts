/**
 * Reads for people: only workers talk to the payments service, so whoever wants to look asks through one of
 * these. They move no money and remember nothing.
 */
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

/** What a payout would cost now. Creates nothing; the lock it takes simply runs out. */
export async function payoutQuote(request: PayoutRequest): Promise<QuotedPayout> {
  const plan = await local.prepareQuote(request);
  const { payerId, type, instructedAmount, originCurrency, targetCurrency } = plan.request;
  const quote = await asked(plan.calls, 'what would it cost?').quotePayout(plan.caller, {
    payerId,
    type,
    instructedAmount,
    originCurrency,
    targetCurrency,
  });
  const problem = quoteProblem(plan.request, quote);
  return { quote, ...(problem && { problem }) };
}

/** The client's accounts; null when it has none. */
export async function accountQuery(
  question: CallIdentity & { clientId: string },
): Promise<ClientAccounts | null> {
  const { caller, calls } = await local.prepareRead(question.app, question.openId);
  return asked(calls, 'which accounts?').checkAccount(caller, question.clientId);
}

/** What a payer has received in one currency, and the accounts for it. */
export async function receivingBalanceQuery(
  question: CallIdentity & { payerId: string; currency: string },
): Promise<ReceivingAccountBalance> {
  const { caller, calls } = await local.prepareRead(question.app, question.openId);
  const { payerId, currency } = question;
  return asked(calls, 'what was received?').fetchReceivingBalance(caller, { payerId, currency });
}

/** One receiving account as the service writes it; null when it knows none of this number. */
export async function receivingDetailQuery(
  question: CallIdentity & { accountId: string },
): Promise<OpaqueRecord | null> {
  const { caller, calls } = await local.prepareRead(question.app, question.openId);
  return asked(calls, 'what is this account?').fetchReceivingDetail(caller, question.accountId);
}

/** Which of the specification's open points hold on the service that this worker talks to. */
export async function serviceProbe(question: CallIdentity & ProbeTarget): Promise<ProbeResult> {
  const { caller, calls } = await local.prepareRead(question.app, question.openId);
  return asked(calls, 'which open points hold?').probeService(caller, question);
}

/**
 * The worker that happens to answer. It had to read `from` and its answer has to be read, so both sides hold the keys
 * that the other one writes with.
 */
export async function workerProbe(from: string): Promise<WorkerDescription & { from: string }> {
  return { ...(await local.lookAtWorker()), from };
}
