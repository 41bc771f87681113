/**
 * Lists the accounts before the first send, then sends the request: at most once if its outcome is unknown. Confirms whether
 * the account was opened by the list of accounts, then asks a person.
 */
import {
  ActivityFailure,
  ApplicationFailure,
  condition,
  isCancellation,
  log,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { NothingSent } from '../../activities/payout/send-once.ts';
import type {
  AccountConfirmation,
  OpenAnswer,
} from '../../activities/receiving-account/receiving-account-activities.ts';
import type { ReceivingAccountResult } from '../../contract/receiving-account.ts';
import type { Clearance } from '../../domain/payout-record.ts';
import { candidateAccounts, noteListed, unsentBackoff } from '../../domain/receiving-account.ts';
import { activityTimeoutMs, sendWithinMs } from '../../domain/time.ts';
import { activityCause, asked, once, untilAnswered } from '../shared/calls.ts';
import { runFacts, windowAfterOthers } from '../shared/run-facts.ts';
import type { OpeningRun } from './opening-run.ts';

/** It is unknown whether the account was opened. */
interface UnknownOutcome {
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
    .call(() => calls.listReceivingAccounts(run.principal, run.accountKey))
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
    return await run.call(() => calls.openReceivingAccount(run.principal, open));
  } catch (error) {
    // The request may have been sent: a failure never proves that no account was opened.
    const cause = activityCause(error);
    const message = cause instanceof ApplicationFailure && cause.type !== 'Error' ? cause.message : undefined;
    return { kind: 'failed', message: message ?? 'the request may have been sent, and no answer came' };
  }
}

/** The end of the opening, or the clearance to send again. */
type Confirmed = { result: ReceivingAccountResult } | { cleared: Clearance };

const CONFIRM_SUMMARY = 'confirms whether the account was opened';
const MAX_WAIT_MS = 60_000;
/** After this many `busy` answers, a person decides. */
const MAX_BUSY_ANSWERS = 3;

/** Asks over the confirmation window, which begins when the send's own deadline ends. */
export async function confirmOpening(run: OpeningRun, unknown: UnknownOutcome): Promise<Confirmed> {
  const { record, settings } = run;
  if (unknown.cause === 'unsent') return review(run, unknown.why);
  record.confirmUntilMs =
    Date.now() + activityTimeoutMs(settings.callTimeoutMs) + settings.confirmationWindowMs;
  run.enter('RECONCILING');
  for (let wait = 1_000; ; wait = Math.min(2 * wait, MAX_WAIT_MS)) {
    const queriedAtMs = Date.now();
    const answer = await confirmAccount(run, untilAnswered(run.calls, 'account', CONFIRM_SUMMARY));
    const confirmed = await judge(run, unknown, answer, queriedAtMs);
    if (confirmed) return confirmed;
    const left = record.confirmUntilMs - Date.now();
    await sleep(Math.max(1, Math.min(wait, left)), { summary: 'confirms again' });
  }
}

/** Undefined: ask again. */
async function judge(
  run: OpeningRun,
  unknown: UnknownOutcome,
  answer: AccountConfirmation,
  queriedAtMs: number,
): Promise<Confirmed | undefined> {
  const { record } = run;
  // After a Workflow Reset, the window may be one that an earlier run began before it sent again.
  record.confirmUntilMs = Math.max(record.confirmUntilMs, windowAfterOthers(answer, run.settings));
  const { confirmUntilMs } = record;
  if (unknown.cause === 'earlier-run') {
    // No other run has sent the request, so only an account that a restore of Temporal has hidden may still appear.
    if (!answer.earlierSend)
      return answer.mayStillAppear && queriedAtMs < confirmUntilMs
        ? undefined
        : { cleared: clearanceOf(answer) };
    record.unknownSends = Math.max(1, record.unknownSends);
    // The earlier run may have opened an account that was there before this run.
    record.before = undefined;
  }
  // The answer may have waited for this workflow, so the time of the question counts.
  if (queriedAtMs >= confirmUntilMs || hasNewAccount(run)) return conclude(run, unknown, answer);
  return undefined;
}

function hasNewAccount({ record }: OpeningRun): boolean {
  return record.before !== undefined && candidateAccounts(record).length > 0;
}

/** If no account appeared, a refusal of the only send ends the opening and `busy` permits another send. Else: review. */
async function conclude(
  run: OpeningRun,
  { cause, why }: UnknownOutcome,
  answer: AccountConfirmation,
): Promise<Confirmed> {
  const { record } = run;
  if (cause === 'busy') record.busyAnswers += 1;
  const isMissing = answer.listed !== null && candidateAccounts(record).length === 0;
  if (isMissing && cause === 'refused') return refused(run, why);
  if (isMissing && cause === 'busy' && record.busyAnswers < MAX_BUSY_ANSWERS)
    return { cleared: clearanceOf(answer) };
  return review(run, why);
}

/** A person decides. An account that appeared is only shown: it may belong to another request. */
async function review(run: OpeningRun, why: string): Promise<Confirmed> {
  run.flag('NEEDS_REVIEW', `find out whether the account was opened, then resolve: ${why}`);
  run.enter('NEEDS_REVIEW');
  log.warn('a receiving account may or may not have been opened; it waits for the update resolve');
  for (;;) {
    await condition(() => run.resolution !== undefined);
    const confirmed = await applyResolution(run);
    if (!confirmed) continue;
    run.unflag('NEEDS_REVIEW');
    return confirmed;
  }
}

async function applyResolution(run: OpeningRun): Promise<Confirmed | undefined> {
  const { resolution } = run;
  if (!resolution) return undefined;
  const { decision, account } = resolution;
  if (decision.created) return { result: run.opened(account ?? {}, 'person', decision.accountId) };
  if (decision.then === 'end') {
    const message = `${decision.by} decided that no account was opened`;
    return { result: run.notOpened({ code: 'RESOLVED_NOT_OPENED', message }) };
  }
  return confirmBeforeRetry(run, resolution);
}

/** An account that the person could not see yet voids the decision. */
async function confirmBeforeRetry(
  run: OpeningRun,
  resolution: NonNullable<OpeningRun['resolution']>,
): Promise<Confirmed | undefined> {
  const shown = candidateAccounts(run.record);
  const queriedAtMs = Date.now();
  const answer = await confirmAccount(run, asked(run.calls, 'beginning', CONFIRM_SUMMARY));
  run.resolution = undefined;
  if (!isAnswered(answer)) return voided(run, resolution, 'the provider did not answer: resolve again later');
  // A Workflow Reset applies updates again, also a decision that an earlier run has carried out.
  if (queriedAtMs < windowAfterOthers(answer, run.settings))
    return voided(run, resolution, 'another run may have sent the request recently: resolve again later');
  if (candidateAccounts(run.record).every((accountId) => shown.includes(accountId))) {
    run.record.unsent = 0;
    run.unflag('NOT_SENT');
    return { cleared: clearanceOf(answer) };
  }
  return voided(run, resolution, 'another account appeared after the decision: check it, then resolve again');
}

function voided(run: OpeningRun, resolution: NonNullable<OpeningRun['resolution']>, why: string): undefined {
  resolution.voidedBy = why;
  run.flag('NEEDS_REVIEW', why);
  run.show();
}

async function confirmAccount(
  run: OpeningRun,
  calls: ReturnType<typeof asked>,
): Promise<AccountConfirmation> {
  const { workflowId } = workflowInfo();
  const { startedAtMs } = run.record;
  const answer = await run
    .call(() => calls.confirmAccount(run.principal, { ...run.accountKey, workflowId, startedAtMs }))
    .catch(unclearedAnswer);
  noteListed(run.record, answer.listed);
  return answer;
}

function clearanceOf({ runId, recoveredAtMs }: AccountConfirmation): Clearance {
  return { runId, recoveredAtMs };
}

function isAnswered({ runId }: AccountConfirmation): boolean {
  return runId !== '';
}

/** A failed read clears no send: no run has an empty id. */
function unclearedAnswer(error: unknown): AccountConfirmation {
  if (!(error instanceof ActivityFailure)) throw error;
  return { listed: null, earlierSend: true, mayStillAppear: true, runId: '' };
}
