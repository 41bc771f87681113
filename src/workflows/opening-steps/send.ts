/** Before the send: which accounts there are. The send: at most once where there is any doubt. */
import { ActivityFailure, ApplicationFailure, sleep, workflowInfo } from '@temporalio/workflow';
import type { OpenAnswer } from '../../activities/types.ts';
import { sendWithinMs } from '../../domain/deadlines.ts';
import type { Clearance } from '../../domain/payout-record.ts';
import type { ReceivingAccountResult } from '../../domain/receiving-account.ts';
import { openingOnce, untilAnswered } from '../calls.ts';
import { isDoubtfulStart } from '../doubtful-start.ts';
import type { OpeningLife } from './opening-life.ts';

/** Why it is not known whether the account was opened, in words for who has to find out. */
export interface Doubted {
  doubt: 'unknown' | 'busy' | 'refused' | 'earlier-run';
  why: string;
}

type Sent = { result: ReceivingAccountResult } | { nothing: true } | Doubted;

const LONGEST_PAUSE_MS = 300_000;

/**
 * The list of accounts is what an unanswered opening is looked for in, so it is read first. A read that waits
 * for as long as the service is away; one that the service refuses leaves the list unknown.
 */
export async function lookBefore(life: OpeningLife): Promise<void> {
  life.enter('CHECKING');
  const calls = untilAnswered(life.calls, 'account', 'which accounts are there?');
  const listed = await life.call(() => calls.listReceivingAccounts(life.caller, life.which));
  life.record.before = listed ?? undefined;
  life.record.listed = life.record.before;
}

export async function send(life: OpeningLife, cleared: Clearance | undefined): Promise<Sent> {
  life.enter('OPENING');
  life.record.sends += 1;
  const answer = await attempt(life, cleared);
  switch (answer.kind) {
    case 'opened':
      return { result: life.opened(answer.account, 'answer') };
    case 'refused':
      return answer.surely ? refused(life, answer.message) : { doubt: 'refused', why: answer.message };
    case 'busy':
      return { doubt: 'busy', why: answer.message };
    case 'failed':
      return { doubt: 'unknown', why: answer.message };
    case 'not-sent':
      if (answer.why === 'may-have-been-sent')
        return { doubt: 'unknown', why: 'this run may have sent it already' };
      if (answer.why === 'earlier-run' || answer.why === 'restored')
        return { doubt: 'earlier-run', why: 'an earlier run of this request may have sent it' };
      await sleep(pauseMs(life.record.sends), { summary: 'nothing was sent; tries again' });
      return { nothing: true };
  }
}

export function refused(life: OpeningLife, message: string): { result: ReceivingAccountResult } {
  return { result: life.notOpened({ code: 'REFUSED_BY_PROVIDER', message }) };
}

async function attempt(
  life: OpeningLife,
  cleared: Clearance | undefined,
): Promise<OpenAnswer | { kind: 'failed'; message: string }> {
  const { app: _app, openId: _openId, requestId: _requestId, ...request } = life.request;
  const { callTimeoutMs } = life.settings;
  const { firstExecutionRunId } = workflowInfo();
  try {
    return await life.call(() =>
      openingOnce(life.calls, `open a receiving account in ${request.currency}`).openReceivingAccount(
        life.caller,
        {
          request,
          firstRunId: firstExecutionRunId,
          isDoubtful: isDoubtfulStart(),
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

function pauseMs(sends: number): number {
  return Math.min(LONGEST_PAUSE_MS, 1_000 * 2 ** (sends - 1));
}
