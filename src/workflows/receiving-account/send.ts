/** Lists the accounts before the first send, then sends the request: at most once if its outcome is unknown. */
import { ActivityFailure, ApplicationFailure, isCancellation, log, sleep } from '@temporalio/workflow';
import type { NothingSent } from '../../activities/payout/send-once.ts';
import type { OpenAnswer } from '../../activities/receiving-account/receiving-account-activities.ts';
import type { ReceivingAccountResult } from '../../contract/receiving-account.ts';
import type { Clearance } from '../../domain/payout-record.ts';
import { unsentBackoff } from '../../domain/receiving-account.ts';
import { sendWithinMs } from '../../domain/time.ts';
import { activityCause, once, untilAnswered } from '../shared/calls.ts';
import { runFacts } from '../shared/run-facts.ts';
import type { OpeningRun } from './opening-run.ts';

/** It is unknown whether the account was opened. */
export interface UnknownOutcome {
  /**
   * `unknown`: the request may have been sent, and no trustworthy answer came.
   * `busy`: the provider says that it did not serve the request.
   * `refused`: the answer to the only send looks like a refusal and does not prove one.
   * `earlier-run`: a run before this one may have sent the request.
   * `unsent`: the request could not be sent many times in a row.
   */
  cause: 'unknown' | 'busy' | 'refused' | 'earlier-run' | 'unsent';
  /** For the person who decides. */
  why: string;
}

type Sent = { result: ReceivingAccountResult } | { nothingSent: true } | { isPaused: true } | UnknownOutcome;

/**
 * Lists the accounts before the first send, so that an account opened without an answer shows up as new. Call it only
 * while no send may have taken effect. The read waits for as long as the provider is unavailable; a refused read leaves
 * the list unknown.
 */
export async function listBefore(run: OpeningRun): Promise<void> {
  run.enter('CHECKING');
  const calls = untilAnswered(run.calls, 'account', 'lists the accounts');
  const listed = await run
    .call(() => calls.listReceivingAccounts(run.caller, run.accountKey))
    .catch(unknownList);
  run.record.before = listed ?? undefined;
  run.record.listed = run.record.before;
}

function unknownList(error: unknown): null {
  if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
  log.warn('the list of accounts could not be read; any account that is listed later may be the new one');
  return null;
}

export async function send(run: OpeningRun, cleared: Clearance | undefined): Promise<Sent> {
  const { record } = run;
  run.enter('OPENING');
  const answer = await sendOnce(run, cleared);
  if (answer.kind !== 'not-sent' || answer.cause === 'may-have-been-sent') record.sends += 1;
  if (answer.kind === 'not-sent') return notSent(run, answer.cause);
  record.unsent = 0;
  run.unflag('NOT_SENT');
  switch (answer.kind) {
    case 'opened':
      return { result: run.opened(answer.account, 'answer') };
    case 'refused': {
      // A refusal says nothing about an earlier send.
      const isOnlySend = record.unknownSends === 0;
      if (answer.isCertain && isOnlySend) return refused(run, answer.message);
      if (!answer.isCertain) record.unknownSends += 1;
      return { cause: isOnlySend ? 'refused' : 'unknown', why: answer.message };
    }
    case 'busy':
      record.unknownSends += 1;
      return { cause: 'busy', why: answer.message };
    case 'failed':
      record.unknownSends += 1;
      return { cause: 'unknown', why: answer.message };
    default:
      // A newer worker may answer in a way that this version does not know.
      record.unknownSends += 1;
      return { cause: 'unknown', why: 'the answer is of a kind that this version does not know' };
  }
}

async function notSent(run: OpeningRun, cause: NothingSent['cause']): Promise<Sent> {
  if (cause === 'may-have-been-sent')
    return { cause: 'unknown', why: 'this run may have sent the request already' };
  if (cause === 'earlier-run' || cause === 'restored' || cause === 'lost-run') return earlierSend(cause);
  if (cause === 'paused') return { isPaused: true };
  run.record.unsent += 1;
  const { unsent } = run.record;
  const next = unsentBackoff(unsent);
  if (next === 'review')
    return { cause: 'unsent', why: `the request could not be sent ${unsent} times in a row` };
  if (next.flag) {
    run.flag('NOT_SENT', `the request could not be sent ${unsent} times in a row; the workflow tries again`);
    run.show();
  }
  await sleep(next.pauseMs, { summary: 'pauses before it sends again' });
  return { nothingSent: true };
}

/** A run before this one may have sent the request. */
export function earlierSend(cause: 'earlier-run' | 'restored' | 'lost-run'): UnknownOutcome {
  const sender = cause === 'earlier-run' ? 'an earlier run' : 'a run that Temporal lost in a restore';
  return { cause: 'earlier-run', why: `${sender} may have sent the request` };
}

export function refused(run: OpeningRun, message: string): { result: ReceivingAccountResult } {
  return { result: run.notOpened({ code: 'REFUSED_BY_PROVIDER', message }) };
}

async function sendOnce(
  run: OpeningRun,
  cleared: Clearance | undefined,
): Promise<OpenAnswer | { kind: 'failed'; message: string }> {
  const { app: _app, openId: _openId, requestId: _requestId, ...request } = run.request;
  const withinMs = sendWithinMs(run.settings.callTimeoutMs);
  const open = { request, ...runFacts(run.record.startedAtMs, cleared), sendWithinMs: withinMs };
  const calls = once(run.calls, 'account', `requests a receiving account in ${request.currency}`);
  try {
    return await run.call(() => calls.openReceivingAccount(run.caller, open));
  } catch (error) {
    // The request may have been sent: a failure never proves that no account was opened.
    const cause = activityCause(error);
    const message = cause instanceof ApplicationFailure && cause.type !== 'Error' ? cause.message : undefined;
    return { kind: 'failed', message: message ?? 'the request may have been sent, and no answer came' };
  }
}
