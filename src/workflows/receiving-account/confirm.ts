/** Confirms whether the account was opened: reads the list of accounts again, then asks a person. */
import { ActivityFailure, condition, log, sleep, workflowInfo } from '@temporalio/workflow';
import type { AccountConfirmation } from '../../activities/receiving-account/receiving-account-activities.ts';
import type { ReceivingAccountResult } from '../../contract/receiving-account.ts';
import type { Clearance } from '../../domain/payout-record.ts';
import { candidateAccounts, noteListed } from '../../domain/receiving-account.ts';
import { activityTimeoutMs } from '../../domain/time.ts';
import { asked, untilAnswered } from '../shared/calls.ts';
import { windowAfterOthers } from '../shared/run-facts.ts';
import type { OpeningRun } from './opening-run.ts';
import { refused, type UnknownOutcome } from './send.ts';

/** The end of the opening, or the clearance to send again. */
type Confirmed = { result: ReceivingAccountResult } | { cleared: Clearance };

const SUMMARY = 'confirms whether the account was opened';
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
    const answer = await confirmAccount(run, untilAnswered(run.calls, 'account', SUMMARY));
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
  const answer = await confirmAccount(run, asked(run.calls, 'beginning', SUMMARY));
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
    .call(() => calls.confirmAccount(run.caller, { ...run.accountKey, workflowId, startedAtMs }))
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
