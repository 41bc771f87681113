/** Opening a receiving account: sent at most once where there is any doubt, and looked for in the list of accounts. */
import { activityInfo } from '@temporalio/activity';
import {
  IllegalParameterError,
  InvalidRequestError,
  MalformedAnswerError,
  type PaymentsClient,
  type PaymentsError,
  RateLimitedError,
  RefusedError,
  UnauthorisedError,
} from '../../payments/index.ts';
import type { Random } from '../../surroundings/surroundings.ts';
import type { CreateDependencies } from '../payout/create-payout.ts';
import { type RunHistories, runsThatMayHaveSent } from '../payout/earlier-runs.ts';
import { claimSend, mustNotSend, provablyNotSent } from '../payout/send-once.ts';
import { optionsOf } from '../shared/caller-options.ts';
import { asFailure } from '../shared/failures.ts';
import type {
  Caller,
  ListedAccounts,
  OpenAccount,
  OpenAnswer,
  OpeningInDoubt,
  WhetherOpened,
} from '../shared/types.ts';

/**
 * Sends the request, unless this run cannot be sure that nobody has sent it before; then says so and sends
 * nothing. Throws when it was sent and no answer can be trusted: the account may exist.
 */
export async function openReceivingAccount(
  { client, claim, policy, surroundings: { clock, random } }: CreateDependencies,
  caller: Caller,
  { request, ...guard }: OpenAccount,
): Promise<OpenAnswer> {
  const deadline = clock.nowMs() + guard.sendWithinMs;
  const held = mustNotSend(guard, policy);
  if (held) return held;
  if (policy.createCheck === 'always' && !guard.cleared) return { kind: 'not-sent', why: 'earlier-run' };
  // A start that the restored Temporal has forgotten looks new here.
  if (policy.recoveredAtMs !== undefined && guard.cleared?.recoveredAtMs !== policy.recoveredAtMs)
    return { kind: 'not-sent', why: 'restored' };
  try {
    const options = { ...optionsOf(caller), deadline, beforeSend: () => claimSend(claim) };
    const account = await client.openReceivingAccount(request, options);
    return { kind: 'opened', account };
  } catch (error) {
    return answerOf(error, random);
  }
}

function answerOf(error: unknown, random: Random): OpenAnswer {
  if (error instanceof InvalidRequestError || error instanceof IllegalParameterError)
    return { kind: 'refused', surely: true, message: error.message };
  if (error instanceof RefusedError)
    return { kind: 'refused', surely: statusRefusesToo(error), message: error.message };
  // Documented as not served; whether that is so shows in the list of accounts.
  if (error instanceof RateLimitedError || error instanceof UnauthorisedError)
    return { kind: 'busy', message: error.message };
  const nothing = provablyNotSent(error);
  if (nothing) return nothing;
  throw asFailure(error, random);
}

/** No code of this operation is documented, so a code alone is not taken for "not opened". */
function statusRefusesToo({ httpStatus = 0 }: PaymentsError): boolean {
  return httpStatus >= 400 && httpStatus < 500;
}

/** The payer's accounts of one currency; null when the service does not want to say, for whatever reason. */
export async function listReceivingAccounts(
  client: PaymentsClient,
  caller: Caller,
  { payerId, currency }: ListedAccounts,
): Promise<string[] | null> {
  try {
    return (await client.receivingAccountBalance(payerId, currency, optionsOf(caller))).accountIds;
  } catch (error) {
    if (REFUSALS.some((refusal) => error instanceof refusal)) return null;
    throw error;
  }
}

const REFUSALS = [RefusedError, MalformedAnswerError, IllegalParameterError, InvalidRequestError];

/**
 * What the list shows now, and whether anybody else may have set out to open the account: another run under this id, or
 * one that a restored Temporal has forgotten. Temporal says nothing of that one, and the provider does not say which
 * request an account is of. So only an empty list clears an opening after a restore, and none from before it (H53).
 */
export async function askWhetherOpened(
  { client, policy: { recoveredAtMs, visibleWithinMs } }: Pick<CreateDependencies, 'client' | 'policy'>,
  histories: RunHistories,
  caller: Caller,
  { workflowId, startedAtMs, ...which }: OpeningInDoubt,
): Promise<WhetherOpened> {
  const runId = activityInfo().workflowExecution?.runId ?? '';
  const listed = await listReceivingAccounts(client, caller, which);
  const senders = await runsThatMayHaveSent(
    histories,
    workflowId,
    runId,
    'openReceivingAccount',
    recoveredAtMs,
  );
  const isForgotten = recoveredAtMs !== undefined && (startedAtMs < recoveredAtMs || listed?.length !== 0);
  const mayStillAppear = recoveredAtMs !== undefined && startedAtMs < recoveredAtMs + visibleWithinMs;
  return { listed, earlierSend: isForgotten || senders.length > 0, mayStillAppear, runId, recoveredAtMs };
}

/** Null: the service answers that there is no such account. */
export async function receivingAccountDetail(
  client: PaymentsClient,
  caller: Caller,
  accountId: string,
): Promise<Record<string, unknown> | null> {
  try {
    return await client.receivingAccountDetail(accountId, optionsOf(caller));
  } catch (error) {
    if (error instanceof RefusedError) return null;
    throw error;
  }
}
