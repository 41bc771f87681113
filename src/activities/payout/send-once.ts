/**
 * Guards every call that must not be repeated: a payout's create, and the opening of a receiving account. Decides whether
 * the call may be sent, and makes it provable that nothing was sent.
 */
import { activityInfo, Context } from '@temporalio/activity';
import { PROMISE_HOLDS_MS } from '../../domain/new-id.ts';
import type { Clearance, SendPolicy } from '../../domain/payout-record.ts';
import { hasCode } from '../../payments/index.ts';
import { type Clock, repeat } from '../../runtime/runtime.ts';
import type { WorkflowRun } from '../../temporal/histories.ts';
import type { RunBegins } from './earlier-runs.ts';

export interface RunFacts {
  /** The first run of the workflow chain. */
  firstRunId: string;
  isDoubtful: boolean;
  /** The workflow that started the payout, if one did. */
  parent?: WorkflowRun | undefined;
  cleared?: Clearance | undefined;
  /** When the first run started, if a restore of Temporal matters. Unix milliseconds. */
  startedAtMs?: number | undefined;
}

export interface SendGuard extends RunFacts {
  /** The deadline of the send, from the activity's start. */
  sendWithinMs: number;
}

export type NothingSent = {
  kind: 'not-sent';
  cause: /** The provider could not be reached, or the call's turn did not come in time. */
    | 'unreachable'
    /** The workflow task took so long that the rate lock may have expired. */
    | 'too-late'
    /** An earlier run may have sent it. */
    | 'earlier-run'
    /** Temporal was restored after this payout started (H53). */
    | 'restored'
    /** The payout started soon after a restore: a lost run may have created an order that is not visible yet (H53). */
    | 'lost-run'
    /** An earlier attempt in this run may have sent it. */
    | 'may-have-been-sent'
    /** Immediately before the send, the provider said that the order exists. */
    | 'exists'
    /** Immediately before the send, the provider gave no usable response. */
    | 'unconfirmed'
    /** An operator has paused the application, or nobody has set its shared settings. */
    | 'paused'
    /** The shared settings require an approval, and the payout has asked for none. */
    | 'unapproved';
};

/** Records in Temporal that the request may be sent from now on. Rejects if Temporal does not acknowledge it. */
export type Claim = (taskToken: Uint8Array, details: typeof MAY_SEND) => Promise<void>;

/**
 * The only heartbeat details of such an activity: first immediately before the send, then until the activity ends. An
 * activity that failed without them has sent nothing. There are no other details, because a late delivery could replace
 * these.
 */
const MAY_SEND = 'may-send';

/**
 * Why the call must not be sent; undefined if it may be sent.
 *
 * A Workflow Reset schedules the activity again in another run, with the same input and as attempt 1, although the
 * activity is never retried. The workflow cannot compare run ids: a reset run would not replay its own history (H6).
 */
export async function mustNotSend(
  guard: SendGuard,
  policy: SendPolicy,
  histories: RunBegins,
): Promise<NothingSent['cause'] | undefined> {
  const { attempt, heartbeatDetails, workflowExecution, ...scheduled } = activityInfo();
  // An operator can reset an activity: Temporal repeats it as attempt 1 without heartbeat details.
  const isRepeated = scheduled.currentAttemptScheduledTimestampMs !== scheduled.scheduledTimestampMs;
  if (attempt > 1 || heartbeatDetails !== undefined || isRepeated) return 'may-have-been-sent';
  // Nothing is sent while Temporal doesn't tell.
  return doubtAbout(workflowExecution?.runId, guard, policy, histories).catch(() => 'earlier-run' as const);
}

/** Whether an earlier run, or a run that a restored Temporal has lost, may have sent what `runId` is about to send. */
export async function doubtAbout(
  runId: string | undefined,
  { firstRunId, isDoubtful, parent, cleared, startedAtMs }: RunFacts,
  policy: SendPolicy,
  histories: RunBegins,
): Promise<'restored' | 'lost-run' | 'earlier-run' | undefined> {
  const { recoveredAtMs, visibleWithinMs } = policy;
  const isCleared = cleared?.runId === runId;
  const isSettled = isCleared && cleared?.recoveredAtMs === recoveredAtMs;
  const forever = Number.POSITIVE_INFINITY;
  // Only by the start time: no worker's clock is involved.
  const sinceRestoreMs = isSettled ? forever : (startedAtMs ?? forever) - (recoveredAtMs ?? -forever);
  if (sinceRestoreMs < 0) return 'restored';
  // Before `lost-run`, because a send of another run requires more than a window without an order.
  if (cleared ? !isCleared : isDoubtful || firstRunId !== runId) return 'earlier-run';
  // A workflow that was reset, or held, promises later that the id of its payout is new (H361, H364).
  if (parent && !cleared && (startedAtMs ?? forever) - (await histories.begunAt(parent)) > PROMISE_HOLDS_MS)
    return 'earlier-run';
  return sinceRestoreMs < visibleWithinMs ? 'lost-run' : undefined;
}

/** Claims the send. Temporal refuses it if the activity has ended, as after a long freeze of this process. */
export function claimSend(claim: Claim): Promise<void> {
  return claim(activityInfo().taskToken, MAY_SEND);
}

const RECLAIM_EVERY_MS = 2_000;

/** Runs `send`, which claims with `beforeSend`. Then claims until it ends, so that Temporal notices a killed worker. */
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
    // The deadline passed before the acknowledgment, so nothing will be sent.
    if (isOver) return;
    stop = repeat(clock, RECLAIM_EVERY_MS, () => {
      // The SDK abandons an activity that does not heartbeat through the SDK.
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

/** Defined if nothing left this process, or the provider could not be reached. */
export function provablyNotSent(error: unknown): NothingSent | undefined {
  if (hasCode(error, 'NOT_SENT') && error.reason === 'paused') return { kind: 'not-sent', cause: 'paused' };
  return hasCode(error, 'NOT_SENT', 'UNAVAILABLE') ? { kind: 'not-sent', cause: 'unreachable' } : undefined;
}
