/**
 * The activity that is the lease: the process that runs it owns the lease. To release the lease, the owner completes the
 * activity: that is faster than a retry, because Temporal's timers may be a second late.
 */
import { ApplicationFailure, activityInfo, Context, log } from '@temporalio/activity';
import {
  ActivityCancelledError,
  ActivityNotFoundError,
  ActivityPausedError,
  ActivityResetError,
  type Client,
} from '@temporalio/client';
import { z } from 'zod';
import { failure } from '../../activities/shared/failures.ts';
import {
  type LeaseHandover,
  type LeaseTerm,
  leaseSettingsSchema,
  type PreviousOwner,
  type ReleasedLease,
} from '../../contract/rate-limit.ts';
import { appRenamedSignal } from '../../contract/workflows.ts';
import {
  inForce,
  LEASE_TIMEOUT_MS,
  MAX_TERM_MS,
  modeAfter,
  RENEWAL_INTERVAL_MS,
  RENEWAL_VALID_MS,
  WINDOW_MS,
} from '../../domain/rate-limit.ts';
import { logEvent } from '../../domain/telemetry.ts';
import { type Clock, repeat } from '../../runtime/runtime.ts';
import { wholeHistory } from '../../temporal/histories.ts';
import { failoverVersionOf } from '../../temporal/namespace.ts';
import type { LeaseActivities } from '../../workflows/rate-limit-lease.ts';
import type { Predecessor, Tenure } from './limiter.ts';
import type { OwnedQueues } from './ownership.ts';

/**
 * The SDK abandons an activity without heartbeats through the SDK, which the renewals bypass. It sends one in four fifths
 * of the heartbeat timeout. Without calls, an idle owner sends no others.
 */
const SDK_HEARTBEAT_EVERY_MS = 4_000;
const CHECK_FAILOVER_EVERY_MS = 10_000;

/** A time on both clocks, because the monotonic clock may stop while the machine is suspended. */
interface Moment {
  monotonicMs: number;
  wallMs: number;
}

export class Fence {
  private readonly clock: Clock;
  private renewedAt: Moment | undefined;
  private isClosed = false;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  now(): Moment {
    return { monotonicMs: this.clock.nowMs(), wallMs: this.clock.wallMs() };
  }

  /** Temporal acknowledged a renewal that was sent at `sentAt`. */
  renewed(sentAt: Moment): void {
    if (this.renewedAt && sentAt.monotonicMs < this.renewedAt.monotonicMs) return;
    this.renewedAt = sentAt;
  }

  /** Ends the term. No later renewal reopens the fence. */
  close(): void {
    this.isClosed = true;
  }

  isValid(): boolean {
    if (this.isClosed || !this.renewedAt) return false;
    const now = this.now();
    return (
      now.monotonicMs - this.renewedAt.monotonicMs < RENEWAL_VALID_MS &&
      now.wallMs - this.renewedAt.wallMs < RENEWAL_VALID_MS
    );
  }
}

/** Why a term ends. `lost`: another process may own the lease already. `released`: this process gives it back. */
type Ending = 'lost' | 'released';

export type LeaseOwner = Pick<
  OwnedQueues,
  'app' | 'begin' | 'drain' | 'end' | 'heartbeat' | 'isInUse' | 'shouldRelease'
>;

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
  const mode = modeAfter(term.previousOwner);
  let renewedMs = clock.nowMs();
  /** Resolves when Temporal has acknowledged the lease: only then is a renewal valid. Otherwise rejects. */
  const renew = async () => {
    const sentAt = fence.now();
    renewedMs = sentAt.monotonicMs;
    const details = owner.heartbeat();
    const deadline = clock.wallMs() + LEASE_TIMEOUT_MS.busy;
    await client.withDeadline(deadline, () => client.activity.heartbeat(taskToken, details));
    fence.renewed(sentAt);
  };
  // This process may have been frozen since it received the task, so Temporal must confirm it first.
  await renew();
  await refuseOutdated(client, term);
  const failoverVersion = await failoverVersionOf(client);
  const settings = inForce(term.settings, failoverVersion);
  if (!settings.shared) log.error('no create call is sent: payouts settings', { app });
  // After a failover, Temporal may have forgotten the last owner.
  const last = settings.shared ? { before: term.previousOwner, details } : { before: 'unknown' as const };
  const before = predecessor({ ...last, runId, attempt, afterFirstMs });
  if (term.app !== app) updateName(client, app);
  const context = Context.current();
  const stopping = new AbortController();
  let stops: (() => void)[] = [];
  let renewNow: () => void = () => undefined;
  let released: LeaseHandover;
  let ending: Ending;
  try {
    const ended = new Promise<Ending>((end) => {
      const release = () => end('released');
      renewNow = () => {
        renew().catch((error: unknown) => endingOf(error, end));
      };
      const isNeeded = () => mode === 'busy' || owner.isInUse;
      stops = [
        repeat(clock, RENEWAL_INTERVAL_MS, () => {
          if (isNeeded()) renewNow();
        }),
        repeat(clock, CHECK_FAILOVER_EVERY_MS, () => {
          if (!isNeeded()) return;
          // A term ends soon after a failover. Each send looks for itself.
          const isOver = async () => (await failoverVersionOf(client)) !== failoverVersion && release();
          isOver().catch(() => undefined);
        }),
        repeat(clock, SDK_HEARTBEAT_EVERY_MS, () => context.heartbeat(owner.heartbeat())),
        clock.after(MAX_TERM_MS, release),
      ];
      context.cancelled.catch(() => end(cancellationOf(context)));
      owner.shouldRelease(stopping.signal).then(release, () => undefined);
    });
    logEvent(log, 'lease.taken', { app, silentMs: before.silentMs });
    const tenure: Tenure = {
      mode,
      predecessorDied: attempt > 1,
      isValid: () => fence.isValid(),
      renew: () => {
        if (clock.nowMs() - renewedMs >= RENEWAL_INTERVAL_MS) renewNow();
      },
    };
    await owner.begin(tenure, before, settings);
    ending = await ended;
    stopping.abort();
    // Meanwhile the lease is renewed.
    if (ending === 'released') await owner.drain();
  } finally {
    stopping.abort();
    for (const stop of stops) stop();
    fence.close();
    released = owner.end();
  }
  logEvent(log, 'lease.ended', { app, ending });
  if (ending === 'lost') throw failure('LEASE_LOST', 'another process may own the lease');
  return { ...released, runId };
}

/** Someone paused, reset or canceled the activity. */
const RELEASE_REQUESTS = [ActivityCancelledError, ActivityPausedError, ActivityResetError];

/** Other failures of a renewal end no term: the next renewal may succeed. */
function endingOf(error: unknown, end: (ending: Ending) => void): void {
  if (error instanceof ActivityNotFoundError) end('lost');
  else if (RELEASE_REQUESTS.some((request) => error instanceof request)) end('released');
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

/** `released` if this worker shuts down, or the activity was canceled, paused or reset. */
function cancellationOf({ cancellationDetails }: Context): Ending {
  return cancellationDetails?.notFound || cancellationDetails?.timedOut ? 'lost' : 'released';
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

const heartbeatSchema = z.object({ marginMs: z.number(), alone: z.boolean().catch(false) });

/** What a new owner knows about the previous one, and how long it must therefore send nothing. */
export function predecessor(start: TermStart): Predecessor {
  const { before, attempt, afterFirstMs } = start;
  const released = isCurrent(before, start) ? before : undefined;
  if (attempt === 1) {
    if (before === 'none') return { silentMs: ONE_WINDOW_MS };
    return released ?? { silentMs: FENCE_AND_WINDOW_MS };
  }
  // The previous owner is an earlier attempt. It timed out after its lease had expired, or ended.
  const heartbeat = heartbeatSchema.safeParse(start.details).data;
  const wasAlone = heartbeat?.alone || before === 'none' || released?.silentMs === 0;
  const unprovenForMs = released?.unprovenForMs
    .map((closesInMs) => closesInMs - afterFirstMs)
    .filter((closesInMs) => closesInMs > 0);
  return {
    silentMs: wasAlone ? ONE_WINDOW_MS : FENCE_AND_WINDOW_MS,
    ...(heartbeat && { marginMs: heartbeat.marginMs }),
    ...(unprovenForMs && { unprovenForMs }),
  };
}

/** False for another run, because a reset replays old handovers. After a restore, new settings begin another run. */
function isCurrent(before: PreviousOwner, { runId }: TermStart): before is ReleasedLease {
  return typeof before === 'object' && before.runId === runId;
}
