/**
 * What stands before every call that must not be made twice: a payout's create, and the opening of a receiving
 * account. Says `undefined` when it may be sent, else why nothing is.
 */
import { activityInfo } from '@temporalio/activity';
import { NotSentError, UnavailableError } from '../payments/index.ts';
import type { NothingSent, SendGuard } from './types.ts';

/** Asks Temporal whether this activity still counts; rejects when it does not, or nobody can say. */
export type Claim = (taskToken: Uint8Array) => Promise<void>;

/**
 * A process may have been frozen between taking this task and running it: by now the activity can have timed
 * out, and a person can have had it sent again. So Temporal is asked; the deadline, counted from before the
 * question, covers the rest.
 */
export async function mustNotSend(stillOurs: Claim, guard: SendGuard): Promise<NothingSent | undefined> {
  if (mayHaveBeenSent(guard)) return { kind: 'not-sent', why: 'may-exist' };
  return (await confirmed(stillOurs)) ? undefined : { kind: 'not-sent', why: 'unreachable' };
}

/** The error says that nothing left this process, or that nobody was there to receive it. */
export function surelyNotSent(error: unknown): NothingSent | undefined {
  if (error instanceof NotSentError)
    return { kind: 'not-sent', why: error.reason === 'before-send' ? 'lock-expired' : 'unreachable' };
  return error instanceof UnavailableError ? { kind: 'not-sent', why: 'unreachable' } : undefined;
}

/**
 * A Workflow Reset schedules the activity again, in another run, with the same input and at attempt 1, even
 * though it is never retried. The comparison stands here and not in the workflow, where branching on the run
 * id would make a reset run replay differently from its own history.
 */
function mayHaveBeenSent({ cleared, askFirst, firstRunId }: SendGuard): boolean {
  const { attempt, workflowExecution } = activityInfo();
  const runId = workflowExecution?.runId;
  if (attempt > 1) return true;
  if (cleared !== undefined) return cleared.runId !== runId;
  return askFirst || firstRunId !== runId;
}

async function confirmed(stillOurs: Claim): Promise<boolean> {
  try {
    await stillOurs(activityInfo().taskToken);
    return true;
  } catch {
    return false;
  }
}
