/** Opens a receiving account: sends at most once if in doubt, and searches the list of accounts. */
import { activityInfo } from '@temporalio/activity';
import type { SendPolicy } from '../../domain/payout-record.ts';
import {
  IllegalParameterError,
  InvalidRequestError,
  MalformedAnswerError,
  type PaymentsClient,
  type PaymentsError,
  RateLimitedError,
  RefusedError,
  UnauthorizedError,
} from '../../payments/index.ts';
import type { Random } from '../../runtime/runtime.ts';
import type { CreateDependencies } from '../payout/create-payout.ts';
import { type RunHistories, runsThatMayHaveSent, sendsOf } from '../payout/earlier-runs.ts';
import { claimSend, mustNotSend, provablyNotSent } from '../payout/send-once.ts';
import type { CallerOptions } from '../shared/execution.ts';
import { asFailure, nullOn } from '../shared/failures.ts';
import type {
  AccountConfirmation,
  ListedAccounts,
  OpenAccount,
  OpenAnswer,
  OpeningToConfirm,
} from '../shared/types.ts';

interface WithPolicy {
  client: PaymentsClient;
  policy: SendPolicy;
}

/** Sends the request, unless it may have been sent before. Throws if the outcome is unknown. */
export async function openReceivingAccount(
  { client, claim, policy, runtime: { clock, random } }: CreateDependencies,
  options: CallerOptions,
  { request, ...guard }: OpenAccount,
): Promise<OpenAnswer> {
  const deadline = clock.nowMs() + guard.sendWithinMs;
  if (!policy) return { kind: 'not-sent', cause: 'paused' };
  const held = mustNotSend(guard, policy);
  if (held) return held;
  if (policy.createCheck === 'always' && !guard.cleared) return { kind: 'not-sent', cause: 'earlier-run' };
  // A restored Temporal may have lost an earlier start.
  if (policy.recoveredAtMs !== undefined && guard.cleared?.recoveredAtMs !== policy.recoveredAtMs)
    return { kind: 'not-sent', cause: 'restored' };
  try {
    const beforeSend = () => claimSend(claim);
    const account = await client.openReceivingAccount(request, { ...options, deadline, beforeSend });
    return { kind: 'opened', account };
  } catch (error) {
    return answerOf(error, random);
  }
}

function answerOf(error: unknown, random: Random): OpenAnswer {
  if (error instanceof InvalidRequestError || error instanceof IllegalParameterError)
    return { kind: 'refused', isCertain: true, message: error.message };
  if (error instanceof RefusedError)
    return { kind: 'refused', isCertain: hasRefusalStatus(error), message: error.message };
  // Documented as not processed. The list of accounts shows whether that is true.
  if (error instanceof RateLimitedError || error instanceof UnauthorizedError)
    return { kind: 'busy', message: error.message };
  const notSent = provablyNotSent(error);
  if (notSent) return notSent;
  throw asFailure(error, random);
}

/** No code of this operation is documented, so a code alone does not prove that no account was opened. */
function hasRefusalStatus({ httpStatus = 0 }: PaymentsError): boolean {
  return httpStatus >= 400 && httpStatus < 500;
}

/**
 * The payer's accounts in one currency; null if the provider refuses to list them. Also null before a send, if another run
 * may have opened one of them: the workflow would exclude them as older than its request (H192).
 */
export async function listReceivingAccounts(
  { client, policy }: WithPolicy,
  histories: RunHistories,
  options: CallerOptions,
  which: ListedAccounts,
): Promise<string[] | null> {
  const listed = await listedBy(client, options, which);
  if (!listed || listed.length === 0) return listed;
  return (await mayBeOfAnotherRun(histories, policy)) ? null : listed;
}

async function mayBeOfAnotherRun(histories: RunHistories, { recoveredAtMs }: SendPolicy): Promise<boolean> {
  const { workflowExecution, retryPolicy } = activityInfo();
  const { workflowId = '', runId = '' } = workflowExecution ?? {};
  // Only the check of an account that a person has named has a limit of attempts.
  if (retryPolicy?.maximumAttempts) return false;
  if (recoveredAtMs !== undefined) return true;
  if (!(await histories.mayHaveOthers(workflowId, runId))) return false;
  const senders = await runsThatMayHaveSent(histories, { workflowId, runId }, SEND);
  return senders.length > 0;
}

async function listedBy(
  client: PaymentsClient,
  options: CallerOptions,
  { payerId, currency }: ListedAccounts,
): Promise<string[] | null> {
  const balance = () => client.receivingAccountBalance(payerId, currency, options);
  return (await nullOn(REFUSALS, balance))?.accountIds ?? null;
}

const SEND = 'openReceivingAccount';
const REFUSALS = [RefusedError, MalformedAnswerError, IllegalParameterError, InvalidRequestError];

/**
 * The listed accounts, and whether another run may have opened one: another run of this id, or a run that a restored
 * Temporal has lost. Temporal does not show the lost run, and the provider does not show which request opened an account.
 * So after a restore, only an empty list clears an opening, and never one that started before the restore (H53).
 */
export async function confirmAccount(
  { client, policy: { recoveredAtMs, visibleWithinMs } }: WithPolicy,
  histories: RunHistories,
  options: CallerOptions,
  { workflowId, startedAtMs, ...which }: OpeningToConfirm,
): Promise<AccountConfirmation> {
  const runId = activityInfo().workflowExecution?.runId ?? '';
  const listed = await listedBy(client, options, which);
  const own = { workflowId, runId };
  const senders = await runsThatMayHaveSent(histories, own, SEND, recoveredAtMs);
  const isForgotten = recoveredAtMs !== undefined && (startedAtMs < recoveredAtMs || listed?.length !== 0);
  const mayStillAppear = recoveredAtMs !== undefined && startedAtMs < recoveredAtMs + visibleWithinMs;
  const sends = sendsOf(senders);
  const earlierSend = isForgotten || sends.earlierSend;
  return { listed, ...sends, earlierSend, mayStillAppear, runId, recoveredAtMs };
}
