/** The one place where money is set in motion. */
import { activityInfo } from '@temporalio/activity';
import {
  CreateRefusedError,
  InvalidRequestError,
  NotSentError,
  type PaymentsClient,
  UnavailableError,
} from '../payments/index.ts';
import { asFailure } from './failures.ts';
import type { Caller, CreateAnswer, CreateOrder } from './types.ts';

/** Asks Temporal whether this activity still counts; rejects when it does not, or nobody can say. */
export type Claim = (taskToken: Uint8Array) => Promise<void>;

/**
 * Sends the create, unless this run cannot be sure that nobody has sent it before; then says so and sends
 * nothing. Throws when it was sent and no answer can be trusted: the order may exist.
 */
export async function createPayout(
  client: PaymentsClient,
  stillOurs: Claim,
  caller: Caller,
  create: CreateOrder,
): Promise<CreateAnswer> {
  const deadline = performance.now() + create.sendWithinMs;
  if (mayHaveBeenSent(create)) return { kind: 'not-sent', why: 'may-exist' };
  // A process may have been frozen between taking this task and running it: by now the activity can have timed
  // out, and a person can have sent the create again. The deadline, counted from before the question, covers the rest.
  if (!(await confirmed(stillOurs))) return { kind: 'not-sent', why: 'unreachable' };
  try {
    const order = await client.createPayout(create.order, {
      ...(caller.openId !== undefined && { openId: caller.openId }),
      deadline,
      beforeSend: () => refuseDeadLock(create.lockExpiresAtMs),
    });
    return { kind: 'created', order };
  } catch (error) {
    return answerOf(error);
  }
}

/**
 * A Workflow Reset schedules this activity again, in another run, with the same input and at attempt 1, even
 * though it is never retried. The comparison stands here and not in the workflow, where branching on the run
 * id would make a reset run replay differently from its own history.
 */
function mayHaveBeenSent(create: CreateOrder): boolean {
  const { attempt, workflowExecution } = activityInfo();
  const runId = workflowExecution?.runId;
  if (attempt > 1) return true;
  if (create.cleared !== undefined) return create.cleared.runId !== runId;
  return create.askFirst || create.firstRunId !== runId;
}

async function confirmed(stillOurs: Claim): Promise<boolean> {
  try {
    await stillOurs(activityInfo().taskToken);
    return true;
  } catch {
    return false;
  }
}

function refuseDeadLock(expiresAtMs: number): void {
  if (Date.now() >= expiresAtMs) throw new Error('the lock ran out while the create waited for its turn');
}

function answerOf(error: unknown): CreateAnswer {
  if (error instanceof CreateRefusedError)
    return { kind: 'not-created', meaning: error.meaning, message: error.message };
  // Our own check of the body: nothing was sent, and it can only be wrong again.
  if (error instanceof InvalidRequestError)
    return { kind: 'not-created', meaning: 'refused', message: error.message };
  if (error instanceof NotSentError)
    return { kind: 'not-sent', why: error.reason === 'before-send' ? 'lock-expired' : 'unreachable' };
  if (error instanceof UnavailableError) return { kind: 'not-sent', why: 'unreachable' };
  throw asFailure(error);
}
