/** Opens a receiving account: sends at most once if in doubt, and searches the list of accounts. */
import { activityInfo } from '@temporalio/activity';
import type { OpaqueRecord, ReceivingAccountBody } from '../../contract/provider-records.ts';
import type { SendPolicy } from '../../domain/payout-record.ts';
import { hasCode, type PaymentsClient, type PaymentsError } from '../../payments/index.ts';
import type { Random } from '../../runtime/runtime.ts';
import type { CreateDependencies } from '../payout/create-payout.ts';
import {
  type EarlierSends,
  type RunHistories,
  runsThatMayHaveSent,
  sendsOf,
} from '../payout/earlier-runs.ts';
import {
  claimSend,
  mustNotSend,
  type NothingSent,
  provablyNotSent,
  type SendGuard,
} from '../payout/send-once.ts';
import { ownRun, type UserOptions } from '../shared/execution.ts';
import { asFailure, nullOn } from '../shared/failures.ts';

export interface OpenAccount extends SendGuard {
  request: ReceivingAccountBody;
}

/** The result of an opening. If the activity fails instead, the outcome is unknown. */
export type OpenResult =
  | { kind: 'opened'; account: OpaqueRecord }
  /** `isCertain`: by code and status, or by our own check. Otherwise the workflow searches the list of accounts first. */
  | { kind: 'refused'; isCertain: boolean; message: string }
  /** The provider says that it did not process the call: because of the rate limit or the token. */
  | { kind: 'busy'; message: string }
  | NothingSent;

/** The provider lists accounts by payer and currency. */
export interface ListedAccounts {
  payerId: string;
  currency: string;
}

/** The opening to confirm. */
export interface OpeningToConfirm extends ListedAccounts {
  /** When the workflow started. Unix milliseconds. */
  startedAtMs: number;
}

export interface AccountConfirmation extends EarlierSends {
  /** Null: the provider refuses to list accounts, or another run may have opened one of them. */
  listed: string[] | null;
  /** Soon after a restore of Temporal: an account that a lost run opened may not be listed yet. */
  mayStillAppear: boolean;
  runId: string;
  recoveredAtMs?: number | undefined;
}

interface Readers {
  client: PaymentsClient;
  policy: SendPolicy;
  histories: RunHistories;
}

/** Sends the request, unless it may have been sent before. Throws if the outcome is unknown. */
export async function openReceivingAccount(
  { client, claim, policy, histories, runtime: { clock, random } }: CreateDependencies,
  options: UserOptions,
  { request, ...guard }: OpenAccount,
): Promise<OpenResult> {
  const deadline = clock.nowMs() + guard.sendWithinMs;
  if (!policy) return { kind: 'not-sent', cause: 'paused' };
  const cause = await mustNotSend(guard, policy, histories);
  if (cause) return { kind: 'not-sent', cause };
  if (policy.createCheck === 'always' && !guard.cleared) return { kind: 'not-sent', cause: 'earlier-run' };
  // A restored Temporal may have lost an earlier start.
  if (policy.recoveredAtMs !== undefined && guard.cleared?.recoveredAtMs !== policy.recoveredAtMs)
    return { kind: 'not-sent', cause: 'restored' };
  try {
    const beforeSend = () => claimSend(claim);
    const account = await client.openReceivingAccount(request, { ...options, deadline, beforeSend });
    return { kind: 'opened', account };
  } catch (error) {
    return resultOf(error, random);
  }
}

function resultOf(error: unknown, random: Random): OpenResult {
  if (hasCode(error, 'INVALID_REQUEST', 'ILLEGAL_PARAMETER'))
    return { kind: 'refused', isCertain: true, message: error.message };
  if (hasCode(error, 'REFUSED'))
    return { kind: 'refused', isCertain: hasRefusalStatus(error), message: error.message };
  // Documented as not processed. The list of accounts shows whether that is true.
  if (hasCode(error, 'RATE_LIMITED', 'UNAUTHORIZED')) return { kind: 'busy', message: error.message };
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
  { client, policy, histories }: Readers,
  options: UserOptions,
  which: ListedAccounts,
): Promise<string[] | null> {
  const listed = await listedBy(client, options, which);
  if (!listed || listed.length === 0) return listed;
  return (await mayBeOfAnotherRun(histories, policy)) ? null : listed;
}

async function mayBeOfAnotherRun(histories: RunHistories, { recoveredAtMs }: SendPolicy): Promise<boolean> {
  // Only the check of an account that an operator has named has a limit of attempts.
  if (activityInfo().retryPolicy?.maximumAttempts) return false;
  if (recoveredAtMs !== undefined) return true;
  const own = ownRun();
  if (!(await histories.mayHaveOthers(own))) return false;
  return (await runsThatMayHaveSent(histories, own, SEND)).senders.length > 0;
}

async function listedBy(
  client: PaymentsClient,
  options: UserOptions,
  { payerId, currency }: ListedAccounts,
): Promise<string[] | null> {
  const refusals = ['REFUSED', 'MALFORMED_ANSWER', 'ILLEGAL_PARAMETER', 'INVALID_REQUEST'] as const;
  const balance = await nullOn(refusals, client.receivingAccountBalance(payerId, currency, options));
  return balance?.accountIds ?? null;
}

const SEND = 'openReceivingAccount';

/**
 * The listed accounts, and whether another run may have opened one: another run of this id, or a run that a restored
 * Temporal has lost. Temporal does not show the lost run, and the provider does not show which request opened an account.
 * So after a restore, only an empty list clears an opening, and never one that started before the restore (H53).
 */
export async function confirmAccount(
  { client, policy: { recoveredAtMs, visibleWithinMs }, histories }: Readers,
  options: UserOptions,
  { startedAtMs, ...which }: OpeningToConfirm,
): Promise<AccountConfirmation> {
  const own = ownRun();
  const listed = await listedBy(client, options, which);
  const { senders } = await runsThatMayHaveSent(histories, own, SEND, recoveredAtMs);
  const isForgotten = recoveredAtMs !== undefined && (startedAtMs < recoveredAtMs || listed?.length !== 0);
  const mayStillAppear = recoveredAtMs !== undefined && startedAtMs < recoveredAtMs + visibleWithinMs;
  const sends = sendsOf(senders);
  const earlierSend = isForgotten || sends.earlierSend;
  return { listed, ...sends, earlierSend, mayStillAppear, runId: own.runId, recoveredAtMs };
}
