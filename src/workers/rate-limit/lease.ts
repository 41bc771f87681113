/**
 * The activity that is the lease: the process that runs it owns the lease. To release the lease, the owner completes the
 * activity: that is faster than a retry, because Temporal's timers may be a second late.
 */
import { ApplicationFailure, activityInfo, Context, log } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import {
  type LeaseHandover,
  type LeaseSettings,
  type LeaseTerm,
  leaseSettingsSchema,
  type PreviousOwner,
  type ReleasedLease,
} from '../../contract/rate-limit.ts';
import { appRenamedSignal } from '../../contract/workflows.ts';
import {
  inForce,
  type LeaseHeartbeat,
  MAX_TERM_MS,
  RENEWAL_VALID_MS,
  WINDOW_MS,
} from '../../domain/rate-limit.ts';
import { logEvent } from '../../domain/telemetry.ts';
import { type Clock, repeat } from '../../runtime/runtime.ts';
import { wholeHistory } from '../../temporal/histories.ts';
import { failoverVersionOf } from '../../temporal/namespace.ts';
import type { LeaseActivities } from '../../workflows/rate-limit-lease.ts';
import { type Ending, Fence, keepRenewing, renewLease } from './fence.ts';

/** The SDK abandons an activity without heartbeats through the SDK, which the renewals bypass. */
const SDK_HEARTBEAT_EVERY_MS = 2_000;
const CHECK_FAILOVER_EVERY_MS = 10_000;

export interface LeaseOwner {
  /** The application's name in this process's configuration. */
  readonly app: string;
  /** The process owns the lease while `fence` is valid. */
  begin(fence: Fence, before: Predecessor, settings: LeaseSettings): Promise<void>;
  /** Stops sending, and waits for the last answers, for at most a second. */
  drain(): Promise<void>;
  /** Ends the term. Nothing is sent after the call. */
  end(): LeaseHandover;
  heartbeat(): LeaseHeartbeat;
  /** Resolves when this process should release the lease to another one. */
  shouldRelease(signal: AbortSignal): Promise<void>;
}

export interface LeaseParts {
  owner: LeaseOwner;
  client: Client;
  clock: Clock;
}

export function leaseActivities(parts: LeaseParts): LeaseActivities {
  return { holdLease: (term) => holdLease(parts, term) };
}

async function holdLease({ owner, client, clock }: LeaseParts, term: LeaseTerm): Promise<ReleasedLease> {
  const { taskToken, attempt, heartbeatDetails: details, workflowExecution, ...times } = activityInfo();
  const afterFirstMs = times.currentAttemptScheduledTimestampMs - times.scheduledTimestampMs;
  const runId = workflowExecution?.runId ?? '';
  const { app } = owner;
  const fence = new Fence(clock);
  const renewal = { client, taskToken, fence, clock, heartbeat: () => owner.heartbeat() };
  // This process may have been frozen since it received the task, so Temporal must confirm it first.
  await renewLease(renewal);
  await refuseOutdated(client, term);
  const failoverVersion = await failoverVersionOf(client);
  const settings = inForce(term.settings, failoverVersion);
  if (!settings.shared) log.error('no create call is sent: npm run payouts -- settings', { app });
  // After a failover, Temporal may have forgotten the last owner.
  const last = settings.shared ? { before: term.previousOwner, details } : { before: 'unknown' as const };
  const before = predecessor({ ...last, runId, attempt, afterFirstMs });
  if (term.app !== app) updateName(client, app);
  const stopping = new AbortController();
  let stopRenewals: () => void = () => undefined;
  let released: LeaseHandover;
  let ending: Ending;
  try {
    const ended = untilEnd(owner, clock, stopping.signal, (onEnd) => {
      const stops = [keepRenewing(renewal, onEnd), watchFailover(client, clock, failoverVersion, onEnd)];
      stopRenewals = () => {
        for (const stop of stops) stop();
      };
    });
    logEvent(log, 'lease.taken', { app, silentMs: before.silentMs });
    await owner.begin(fence, before, settings);
    ending = await ended;
    // Meanwhile the lease is renewed.
    if (ending === 'released') await owner.drain();
  } finally {
    stopping.abort();
    stopRenewals();
    fence.close();
    released = owner.end();
  }
  logEvent(log, 'lease.ended', { app, ending });
  if (ending === 'lost')
    throw ApplicationFailure.create({ type: 'LEASE_LOST', message: 'another process may own the lease' });
  return { ...released, runId };
}

/** A term ends soon after a failover. Each send looks for itself. */
function watchFailover(
  client: Client,
  clock: Clock,
  failoverVersion: string,
  onEnd: (ending: Ending) => void,
): () => void {
  return repeat(clock, CHECK_FAILOVER_EVERY_MS, () => {
    failoverVersionOf(client).then(
      (now) => now !== failoverVersion && onEnd('released'),
      () => undefined,
    );
  });
}

/**
 * A Workflow Reset repeats a term that an earlier run began, and applies the changes of settings that followed it only
 * afterwards. The workflow cannot tell: it replays the same commands.
 */
async function refuseOutdated(client: Client, { settings }: LeaseTerm): Promise<void> {
  const { activityId, workflowExecution } = activityInfo();
  const events = (workflowExecution && (await wholeHistory(client, workflowExecution))) ?? [];
  const begin = events.findIndex(
    ({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.activityId === activityId,
  );
  const isRepeated = events
    .slice(begin + 1)
    .some((event) => event.workflowTaskFailedEventAttributes?.newRunId);
  if (begin >= 0 && !isRepeated && leaseSettingsSchema.safeParse(settings).success) return;
  const message = 'the workflow of the lease was reset, so the settings of this term may be outdated';
  throw ApplicationFailure.create({ type: 'LEASE_OUTDATED', message, nonRetryable: true });
}

/** Operators search for the lease by the application's current name. */
function updateName(client: Client, app: string): void {
  const { workflowId, runId } = activityInfo().workflowExecution ?? {};
  if (workflowId === undefined) return;
  client.workflow
    .getHandle(workflowId, runId)
    .signal(appRenamedSignal, app)
    .catch((error: unknown) => log.warn('cannot update the name of the rate-limit lease', { app, error }));
}

/**
 * Until the lease is lost, is requested back, has reached its maximum term, or this process should release it. Also
 * ends when `stopping` aborts, because a term that could not begin must leave no timer.
 */
async function untilEnd(
  owner: LeaseOwner,
  clock: Clock,
  stopping: AbortSignal,
  renew: (onEnd: (ending: Ending) => void) => void,
): Promise<Ending> {
  const context = Context.current();
  const ended = new AbortController();
  const stopHeartbeats = repeat(clock, SDK_HEARTBEAT_EVERY_MS, () => context.heartbeat(owner.heartbeat()));
  let stopTerm: () => void = () => undefined;
  try {
    return await new Promise((resolve) => {
      renew(resolve);
      context.cancellationSignal.addEventListener('abort', () => resolve(cancellationOf(context)));
      if (context.cancellationSignal.aborted) resolve(cancellationOf(context));
      stopTerm = clock.after(MAX_TERM_MS, () => resolve('released'));
      stopping.addEventListener('abort', () => resolve('released'));
      owner.shouldRelease(ended.signal).then(
        () => resolve('released'),
        () => undefined,
      );
    });
  } finally {
    ended.abort();
    stopHeartbeats();
    stopTerm();
  }
}

/** `released` if this worker shuts down, or the activity was canceled, paused or reset. */
function cancellationOf({ cancellationDetails }: Context): Ending {
  return cancellationDetails?.notFound || cancellationDetails?.timedOut ? 'lost' : 'released';
}

export interface Predecessor {
  silentMs: number;
  /** Present if it released the lease. The new owner counts its sends as its own. */
  released?: ReleasedLease | undefined;
  learnedMarginMs?: number | undefined;
  /** In a retry: calls of the owner before the first attempt that may still arrive, as `LeaseHandover` has them. */
  unprovenForMs?: readonly number[] | undefined;
}

export interface TermStart {
  before: PreviousOwner;
  runId: string;
  attempt: number;
  /** How long after the first attempt this one was scheduled. */
  afterFirstMs: number;
  /** The last heartbeat of earlier attempts; undefined in the first attempt. */
  details?: unknown;
}

/** How late a call of an ended process may arrive. */
const MAX_DELAY_MS = 200;
const ONE_WINDOW_MS = WINDOW_MS + MAX_DELAY_MS;
/** An owner that may still send: first its lease expires, then its last calls leave the window. */
const FENCE_AND_WINDOW_MS = RENEWAL_VALID_MS + ONE_WINDOW_MS;

/** What a new owner knows about the previous one, and how long it must therefore send nothing. */
export function predecessor(start: TermStart): Predecessor {
  const { before, attempt, afterFirstMs, details } = start;
  if (attempt === 1) {
    if (before === 'none') return { silentMs: ONE_WINDOW_MS };
    return isCurrent(before, start) ? { silentMs: 0, released: before } : { silentMs: FENCE_AND_WINDOW_MS };
  }
  // The previous owner is an earlier attempt. It timed out after its lease had expired, or ended.
  const heartbeat = heartbeatIn(details);
  const released = isCurrent(before, start) ? before : undefined;
  const wasAlone = heartbeat?.alone || before === 'none' || released;
  return {
    silentMs: wasAlone ? ONE_WINDOW_MS : FENCE_AND_WINDOW_MS,
    learnedMarginMs: heartbeat?.marginMs,
    unprovenForMs: released?.unprovenForMs
      ?.map((closesInMs) => closesInMs - afterFirstMs)
      .filter((closesInMs) => closesInMs > 0),
  };
}

/** False for another run, because a reset replays old handovers. After a restore, new settings begin another run. */
function isCurrent(before: PreviousOwner, { runId }: TermStart): before is ReleasedLease {
  return typeof before === 'object' && before.runId === runId;
}

function heartbeatIn(details: unknown): LeaseHeartbeat | undefined {
  if (typeof details !== 'object' || details === null) return undefined;
  if (!('marginMs' in details && typeof details.marginMs === 'number')) return undefined;
  return { marginMs: details.marginMs, alone: 'alone' in details && details.alone === true };
}
