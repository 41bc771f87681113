/**
 * What stands before every call that must not be made twice: a payout's create, and the opening of a receiving
 * account. It decides whether the call may be sent, and it makes "nothing left this process" provable.
 */
import { activityInfo, Context } from '@temporalio/activity';
import type { SendPolicy } from '../../domain/payout.ts';
import { NotSentError, UnavailableError } from '../../payments/index.ts';
import { type Clock, repeat } from '../../surroundings/surroundings.ts';
import type { NothingSent, RunFacts, SendGuard } from '../shared/types.ts';

/**
 * Records with Temporal, as the heartbeat of this activity, that the request may leave from now on. Rejects when
 * Temporal does not acknowledge it: the activity has ended, or nobody can say.
 */
export type Claim = (taskToken: Uint8Array, details: typeof MAY_SEND) => Promise<void>;

/**
 * The only details that such an activity ever heartbeats: after its turn and right before it sends, then on until it
 * ends. An activity that failed without them has sent nothing. No earlier heartbeat says anything else, which a late
 * delivery could put in their place.
 */
export const MAY_SEND = 'may-send';

/**
 * Undefined when the call may be sent; else why not.
 *
 * A Workflow Reset schedules the activity again, in another run, with the same input and at attempt 1, even
 * though it is never retried. The comparison stands here and not in the workflow, where a branch on the run id would
 * make a reset run replay differently from its own history (H6).
 */
export function mustNotSend(guard: SendGuard, policy: SendPolicy): NothingSent | undefined {
  const { attempt, heartbeatDetails, workflowExecution, ...scheduled } = activityInfo();
  // An operator can make Temporal repeat an activity that is never retried, with its attempts and heartbeats reset.
  const isRepeated = scheduled.currentAttemptScheduledTimestampMs !== scheduled.scheduledTimestampMs;
  if (attempt > 1 || heartbeatDetails !== undefined || isRepeated)
    return { kind: 'not-sent', why: 'may-have-been-sent' };
  const doubt = doubtAbout(workflowExecution?.runId, guard, policy);
  return doubt && { kind: 'not-sent', why: doubt };
}

/** Whether an earlier run, or one that a restored Temporal has forgotten, may have sent what `runId` is about to send. */
export function doubtAbout(
  runId: string | undefined,
  { firstRunId, isDoubtful, cleared, startedAtMs }: RunFacts,
  policy: SendPolicy,
): 'restored' | 'forgotten' | 'earlier-run' | undefined {
  const { recoveredAtMs, visibleWithinMs } = policy;
  const isCleared = cleared?.runId === runId;
  const isSettled = isCleared && cleared?.recoveredAtMs === recoveredAtMs;
  const forever = Number.POSITIVE_INFINITY;
  // By the time at which it started alone: no clock of a worker is asked.
  const sinceRestoreMs = isSettled ? forever : (startedAtMs ?? forever) - (recoveredAtMs ?? -forever);
  if (sinceRestoreMs < 0) return 'restored';
  // First: what another run may have sent needs more than a window without an order.
  if (cleared ? !isCleared : isDoubtful || firstRunId !== runId) return 'earlier-run';
  return sinceRestoreMs < visibleWithinMs ? 'forgotten' : undefined;
}

/**
 * Claims the send. A process may have been frozen between taking this task and its turn: by now the activity can have
 * timed out, and a person can have had it sent again. Temporal refuses the claim then.
 */
export function claimSend(claim: Claim): Promise<void> {
  return claim(activityInfo().taskToken, MAY_SEND);
}

const CLAIM_AGAIN_EVERY_MS = 2_000;

/** Runs `send` with what claims its send; goes on claiming while it runs, so that a killed worker is noticed. */
export async function whileClaimed<T>(
  claim: Claim,
  clock: Clock,
  send: (beforeSend: () => Promise<void>) => Promise<T>,
): Promise<T> {
  let stop: () => void = () => undefined;
  let isOver = false;
  const context = Context.current();
  const beforeSend = async () => {
    await claimSend(claim);
    // Acknowledged only after the deadline: the send was given up.
    if (isOver) return;
    // The SDK knows only of its own heartbeats: without any it gives an activity up, and its answer is lost.
    context.heartbeat(MAY_SEND);
    stop = repeat(clock, CLAIM_AGAIN_EVERY_MS, () => {
      context.heartbeat(MAY_SEND);
      claimSend(claim).catch(() => undefined);
    });
  };
  try {
    return await send(beforeSend);
  } finally {
    isOver = true;
    stop();
  }
}

/** The error says that nothing left this process, or that nobody was there to receive it. */
export function provablyNotSent(error: unknown): NothingSent | undefined {
  const nothing = error instanceof NotSentError || error instanceof UnavailableError;
  return nothing ? { kind: 'not-sent', why: 'unreachable' } : undefined;
}
