/** Before the first send: which accounts there are. The send: at most once where there is any doubt. */
import { ActivityFailure, ApplicationFailure, isCancellation, log, sleep } from '@temporalio/workflow';
import type { NothingSent, OpenAnswer } from '../../activities/shared/types.ts';
import { sendWithinMs } from '../../domain/deadlines.ts';
import type { Clearance } from '../../domain/payout-record.ts';
import type { ReceivingAccountResult } from '../../domain/receiving-account.ts';
import { unsentBackoff } from '../../domain/receiving-account-state.ts';
import { openingOnce, untilAnswered } from '../shared/calls.ts';
import type { OpeningRun } from './opening-run.ts';

/** Why it is not known whether the account was opened, in words for who has to find out. */
export interface Doubted {
  /** `refused`: of the only send, and not surely. `unsent`: nothing left this process, again and again. */
  doubt: 'unknown' | 'busy' | 'refused' | 'earlier-run' | 'unsent';
  why: string;
}

type Sent = { result: ReceivingAccountResult } | { nothing: true } | Doubted;

/**
 * The list of accounts is what an unanswered opening is looked for in, so it is read before the first send, and never
 * after one that may have taken effect. A read that waits for as long as the provider is away; one that the provider
 * refuses leaves the list unknown.
 */
export async function lookBefore(run: OpeningRun): Promise<void> {
  run.enter('CHECKING');
  const calls = untilAnswered(run.calls, 'account', 'which accounts are there?');
  const listed = await run
    .call(() => calls.listReceivingAccounts(run.caller, run.which))
    .catch(listStaysUnknown);
  run.record.before = listed ?? undefined;
  run.record.listed = run.record.before;
}

function listStaysUnknown(error: unknown): null {
  if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
  log.warn('the list of accounts could not be read; whatever is in it later may be the account');
  return null;
}

export async function send(run: OpeningRun, cleared: Clearance | undefined): Promise<Sent> {
  const { record } = run;
  run.enter('OPENING');
  const answer = await attempt(run, cleared);
  if (answer.kind === 'not-sent') return notSent(run, answer.why);
  record.unsent = 0;
  run.unflag('NOT_SENT');
  switch (answer.kind) {
    case 'opened':
      return { result: run.opened(answer.account, 'answer') };
    case 'refused': {
      // It says nothing about a send before this one.
      const isOnlySend = record.unsettled === 0;
      if (answer.surely && isOnlySend) return refused(run, answer.message);
      if (!answer.surely) record.unsettled += 1;
      return { doubt: isOnlySend ? 'refused' : 'unknown', why: answer.message };
    }
    case 'busy':
      record.unsettled += 1;
      return { doubt: 'busy', why: answer.message };
    case 'failed':
      record.unsettled += 1;
      return { doubt: 'unknown', why: answer.message };
  }
}

async function notSent(run: OpeningRun, why: NothingSent['why']): Promise<Sent> {
  if (why === 'may-have-been-sent') return { doubt: 'unknown', why: 'this run may have sent it already' };
  if (why === 'earlier-run' || why === 'restored' || why === 'forgotten') return sentBefore(why);
  run.record.unsent += 1;
  const { unsent } = run.record;
  const next = unsentBackoff(unsent);
  if (next === 'review') return { doubt: 'unsent', why: `nothing could be sent, ${unsent} times in a row` };
  if (next.flag) {
    run.flag('NOT_SENT', `nothing could be sent, ${unsent} times in a row; it is tried again`);
    run.show();
  }
  await sleep(next.pauseMs, { summary: 'nothing was sent; tries again' });
  return { nothing: true };
}

/** It may have been sent before this run, of which nothing is left here. */
export function sentBefore(doubt: 'earlier-run' | 'restored' | 'forgotten'): Doubted {
  const who =
    doubt === 'earlier-run' ? 'an earlier run' : 'the run that Temporal forgot when it was restored';
  return { doubt: 'earlier-run', why: `${who} may have sent it` };
}

export function refused(run: OpeningRun, message: string): { result: ReceivingAccountResult } {
  return { result: run.notOpened({ code: 'REFUSED_BY_PROVIDER', message }) };
}

async function attempt(
  run: OpeningRun,
  cleared: Clearance | undefined,
): Promise<OpenAnswer | { kind: 'failed'; message: string }> {
  const { app: _app, openId: _openId, requestId: _requestId, ...request } = run.request;
  const { callTimeoutMs } = run.settings;
  try {
    return await run.call(() =>
      openingOnce(run.calls, `open a receiving account in ${request.currency}`).openReceivingAccount(
        run.caller,
        {
          request,
          ...run.runFacts,
          cleared,
          sendWithinMs: sendWithinMs(callTimeoutMs),
        },
      ),
    );
  } catch (error) {
    // Whatever went wrong, it may have been sent: a failed opening is never taken for "not opened".
    const cause = error instanceof ActivityFailure ? error.cause : undefined;
    const told = cause instanceof ApplicationFailure && cause.type !== 'Error' ? cause.message : undefined;
    return { kind: 'failed', message: told ?? 'it was sent, or may have been, and never answered' };
  }
}
