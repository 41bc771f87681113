/**
 * Sends the request: at most once if its outcome is unknown. Then confirms by the list of accounts whether the account was
 * opened, and in doubt asks a person. Each step returns the end of the opening, or undefined if the request may be sent
 * again.
 */
import {
  ActivityFailure,
  ApplicationFailure,
  condition,
  isCancellation,
  log,
  sleep,
} from '@temporalio/workflow';
import type { NothingSent } from '../../activities/payout/send-once.ts';
import type {
  AccountConfirmation,
  OpenResult,
} from '../../activities/receiving-account/receiving-account-activities.ts';
import type { ReceivingAccountResult } from '../../contract/receiving-account.ts';
import { candidateAccounts, noteListed, unsentBackoff } from '../../domain/receiving-account.ts';
import { sendWithinMs } from '../../domain/time.ts';
import {
  activityCause,
  asked,
  type CallSettings,
  neverStarted,
  once,
  untilAnswered,
} from '../shared/calls.ts';
import { runFacts, windowAfterOthers, windowEndMs } from '../shared/uncertain-send.ts';
import type { OpeningRun } from './opening-run.ts';

type End = ReceivingAccountResult | undefined;

/** Why it is unknown whether the account was opened. */
type UnknownCause =
  /** The request may have been sent, and no trustworthy response came. */
  | 'unknown'
  /** The provider says that it did not serve the request. */
  | 'busy'
  /** The response to the only send looks like a refusal and does not prove one. */
  | 'refused'
  /** A run before this one may have sent the request. */
  | 'earlier-run';

/**
 * Lists the accounts before the first send, so that an account opened without a response shows up as new. Call it only
 * while no send may have taken effect. The read waits for as long as the provider is unavailable; a refused read leaves
 * the list unknown.
 */
export async function listBefore(run: OpeningRun): Promise<void> {
  run.enter('CHECKING');
  const listed = await run
    .call((calls) =>
      untilAnswered(calls, 'account', 'lists the accounts').listReceivingAccounts(
        run.principal,
        run.accountKey,
      ),
    )
    .catch(unknownList);
  run.record.before = listed ?? undefined;
  run.record.listed = run.record.before;
}

function unknownList(error: unknown): null {
  if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
  log.warn('the list of accounts could not be read; any account that is listed later may be the new one');
  return null;
}

export async function send(run: OpeningRun): Promise<End | 'paused'> {
  const { record } = run;
  run.enter('OPENING');
  const answer = await sendOnce(run);
  if (answer.kind !== 'not-sent' || answer.cause === 'may-have-been-sent') record.sends += 1;
  if (answer.kind === 'not-sent') return notSent(run, answer.cause);
  record.unsent = 0;
  run.unflag('NOT_SENT');
  if (answer.kind === 'opened') return run.opened(answer.account, 'response');
  if (answer.kind === 'refused') {
    // A refusal says nothing about an earlier send.
    const isOnlySend = record.unknownSends === 0;
    if (answer.isCertain && isOnlySend) return run.notOpened('REFUSED_BY_PROVIDER', answer.message);
    if (!answer.isCertain) record.unknownSends += 1;
    return confirmOpening(run, isOnlySend ? 'refused' : 'unknown', answer.message);
  }
  record.unknownSends += 1;
  // A newer worker may answer in a way that this version does not know.
  const { message = 'the response is of a kind that this version does not know' } = answer;
  return confirmOpening(run, answer.kind === 'busy' ? 'busy' : 'unknown', message);
}

async function sendOnce(run: OpeningRun): Promise<OpenResult | { kind: 'failed'; message: string }> {
  const { app: _app, openId: _openId, requestId: _requestId, ...request } = run.request;
  const withinMs = sendWithinMs(run.settings.callTimeoutMs);
  const open = { request, ...runFacts(run.record.startedAtMs, run.cleared), sendWithinMs: withinMs };
  const summary = `requests a receiving account in ${request.currency}`;
  const sendWith = (calls: CallSettings) =>
    once(calls, 'account', summary).openReceivingAccount(run.principal, open);
  try {
    // Only a send that no worker has picked up is replaced.
    return await run.call(sendWith, sendWith, neverStarted);
  } catch (error) {
    // The request may have been sent: a failure never proves that no account was opened.
    const cause = activityCause(error);
    const message = cause instanceof ApplicationFailure && cause.type !== 'Error' ? cause.message : undefined;
    return { kind: 'failed', message: message ?? 'the request may have been sent, and no response came' };
  }
}

async function notSent(run: OpeningRun, cause: NothingSent['cause']): Promise<End | 'paused'> {
  if (cause === 'paused') return 'paused';
  if (cause === 'may-have-been-sent')
    return confirmOpening(run, 'unknown', 'this run may have sent the request already');
  if (cause === 'earlier-run' || cause === 'restored' || cause === 'lost-run')
    return confirmEarlierSend(run, cause);
  run.record.unsent += 1;
  const { unsent } = run.record;
  const message = `the request could not be sent ${unsent} times in a row`;
  const next = unsentBackoff(unsent);
  if (next === 'review') return review(run, message);
  if (next.flag) {
    run.flag('NOT_SENT', `${message}; the workflow tries again`);
    run.show();
  }
  await sleep(next.pauseMs, { summary: 'pauses before it sends again' });
  return undefined;
}

const CONFIRM_SUMMARY = 'confirms whether the account was opened';
const MAX_WAIT_MS = 60_000;
/** After this many `busy` responses, a person decides. */
const MAX_BUSY_ANSWERS = 3;

export function confirmEarlierSend(
  run: OpeningRun,
  cause: 'earlier-run' | 'restored' | 'lost-run',
): Promise<End> {
  const sender = cause === 'earlier-run' ? 'an earlier run' : 'a run that Temporal lost in a restore';
  return confirmOpening(run, 'earlier-run', `${sender} may have sent the request`);
}

/** Asks over the confirmation window. `why` is for the person who decides. */
async function confirmOpening(run: OpeningRun, cause: UnknownCause, why: string): Promise<End> {
  const { record, settings } = run;
  record.confirmUntilMs = windowEndMs(settings);
  run.enter('RECONCILING');
  for (let wait = 1_000; ; wait = Math.min(2 * wait, MAX_WAIT_MS)) {
    const queriedAtMs = Date.now();
    const answer = await confirmAccount(run, (calls) => untilAnswered(calls, 'account', CONFIRM_SUMMARY));
    // After a Workflow Reset, the window may be one that an earlier run began before it sent again.
    record.confirmUntilMs = Math.max(record.confirmUntilMs, windowAfterOthers(answer, settings));
    // The response may have waited for this workflow, so the time of the question counts.
    const isOver = queriedAtMs >= record.confirmUntilMs;
    // No other run has sent the request, so only an account that a restore of Temporal has hidden may still appear.
    const isUnsent = cause === 'earlier-run' && !answer.earlierSend;
    if (isUnsent && (isOver || !answer.mayStillAppear)) return sendAgain(run, answer);
    if (cause === 'earlier-run' && !isUnsent) noteEarlierSend(run);
    if (!isUnsent && (isOver || hasNewAccount(run))) return conclude(run, cause, why, answer);
    const left = record.confirmUntilMs - Date.now();
    await sleep(Math.max(1, Math.min(wait, left)), { summary: 'confirms again' });
  }
}

/** The earlier run may have opened an account that was there before this run. */
function noteEarlierSend({ record }: OpeningRun): void {
  record.unknownSends = Math.max(1, record.unknownSends);
  record.before = undefined;
}

function hasNewAccount({ record }: OpeningRun): boolean {
  return record.before !== undefined && candidateAccounts(record).length > 0;
}

/** If no account appeared, a refusal of the only send ends the opening and `busy` permits another send. Else: review. */
async function conclude(
  run: OpeningRun,
  cause: UnknownCause,
  why: string,
  answer: AccountConfirmation,
): Promise<End> {
  const { record } = run;
  if (cause === 'busy') record.busyAnswers += 1;
  const isMissing = answer.listed !== null && candidateAccounts(record).length === 0;
  if (isMissing && cause === 'refused') return run.notOpened('REFUSED_BY_PROVIDER', why);
  if (isMissing && cause === 'busy' && record.busyAnswers < MAX_BUSY_ANSWERS) return sendAgain(run, answer);
  return review(run, why);
}

/** A person decides. An account that appeared is only shown: it may belong to another request. */
async function review(run: OpeningRun, why: string): Promise<End> {
  run.flag('NEEDS_REVIEW', `find out whether the account was opened, then resolve: ${why}`);
  run.enter('NEEDS_REVIEW');
  log.warn('a receiving account may or may not have been opened; it waits for the update resolve');
  for (;;) {
    await condition(() => run.resolution !== undefined);
    const { resolution } = run;
    if (!resolution) continue;
    const { decision, account } = resolution;
    if (!decision.created && decision.then === 'retry') {
      const problem = await retryProblem(run);
      run.resolution = undefined;
      if (problem !== undefined) {
        resolution.voidedBy = problem;
        run.flag('NEEDS_REVIEW', problem);
        run.show();
        continue;
      }
    }
    run.unflag('NEEDS_REVIEW');
    if (decision.created) return run.opened(account ?? {}, 'operator', decision.accountId);
    if (decision.then === 'retry') return undefined;
    return run.notOpened('RESOLVED_NOT_OPENED', `${decision.by} decided that no account was opened`);
  }
}

/** Why the request must not be sent again yet: an account that the person could not see voids the decision. */
async function retryProblem(run: OpeningRun): Promise<string | undefined> {
  const shown = candidateAccounts(run.record);
  const queriedAtMs = Date.now();
  const answer = await confirmAccount(run, (calls) => asked(calls, 'beginning', CONFIRM_SUMMARY));
  if (answer.runId === NO_RUN) return 'the provider did not respond: resolve again later';
  // A Workflow Reset applies updates again, also a decision that an earlier run has carried out.
  if (queriedAtMs < windowAfterOthers(answer, run.settings))
    return 'another run may have sent the request recently: resolve again later';
  if (!candidateAccounts(run.record).every((accountId) => shown.includes(accountId)))
    return 'another account appeared after the decision: check it, then resolve again';
  run.record.unsent = 0;
  run.unflag('NOT_SENT');
  return sendAgain(run, answer);
}

function sendAgain(run: OpeningRun, { runId, recoveredAtMs }: AccountConfirmation): undefined {
  run.cleared = { runId, recoveredAtMs };
}

const NO_RUN = '';

async function confirmAccount(
  run: OpeningRun,
  asking: (calls: CallSettings) => ReturnType<typeof asked>,
): Promise<AccountConfirmation> {
  const { startedAtMs } = run.record;
  const answer = await run
    .call((calls) => asking(calls).confirmAccount(run.principal, { ...run.accountKey, startedAtMs }))
    .catch(unclearedAnswer);
  noteListed(run.record, answer.listed);
  return answer;
}

/** A failed read clears no send. */
function unclearedAnswer(error: unknown): AccountConfirmation {
  if (!(error instanceof ActivityFailure)) throw error;
  return { listed: null, earlierSend: true, mayStillAppear: true, runId: NO_RUN };
}
