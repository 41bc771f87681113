/**
 * The activity that is the lease: the process that runs it is the lease owner. An owner that gives the lease back
 * completes it, which is quicker than a retry: Temporal's timers may be a second late.
 */
import { ApplicationFailure, activityInfo, Context, log } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import type { LeaseActivities } from '../../activities/shared/types.ts';
import { servedAsSignal } from '../../contract/lease-messages.ts';
import {
  type LeaseHandover,
  type LeaseHeartbeat,
  type LeaseTerm,
  MAX_TERM_MS,
  type ReleasedLease,
} from '../../domain/rate-limit-lease.ts';
import { type Clock, repeat } from '../../surroundings/surroundings.ts';
import { Fence } from './fence.ts';
import { type Predecessor, predecessor } from './predecessor.ts';
import { type Ending, Renewals } from './renewals.ts';

/**
 * The SDK gives up an activity that has told it nothing for the heartbeat timeout and 5 s more. The renewals go past it.
 */
const TELL_SDK_EVERY_MS = 2_000;

/** What owning the lease means in this process. */
export interface LeaseOwner {
  /** The application's name in this process's configuration. */
  readonly app: string;
  /** The lease is ours, for as long as `fence` says. */
  begin(fence: Fence, before: Predecessor, callsPerSecond: number | undefined): Promise<void>;
  /** From the moment it is called, nothing is sent any more. */
  end(): LeaseHandover;
  note(): LeaseHeartbeat;
  /** Resolves when this process wants to give the lease to another. */
  wantsToGive(signal: AbortSignal): Promise<void>;
}

export interface LeaseParts {
  owner: LeaseOwner;
  client: Client;
  clock: Clock;
  /** `PAYOUTS_TEMPORAL_RECOVERED_AT`. Unix milliseconds. */
  recoveredAtMs: number | undefined;
}

export function leaseActivities(parts: LeaseParts): LeaseActivities {
  return { holdLease: (term) => holdLease(parts, term) };
}

async function holdLease(
  { owner, client, clock, recoveredAtMs }: LeaseParts,
  term: LeaseTerm,
): Promise<ReleasedLease> {
  const { taskToken, attempt, heartbeatDetails: details, workflowExecution } = activityInfo();
  const runId = workflowExecution?.runId ?? '';
  const { app } = owner;
  const fence = new Fence(clock);
  const renewals = new Renewals({ client, taskToken, fence, clock, note: () => owner.note() });
  const before = predecessor({ before: term.before, runId, recoveredAtMs, attempt, details });
  // This task may have lain in a frozen process: only an answer from Temporal makes it count.
  await renewals.confirm();
  if (term.app !== app) tellName(client, app);
  let released: LeaseHandover;
  let ending: Ending;
  try {
    const ended = untilOver(owner, renewals, clock);
    log.info('took the rate-limit lease', { app, silentMs: before.silentMs });
    await owner.begin(fence, before, term.callsPerSecond);
    ending = await ended;
  } finally {
    renewals.stop();
    fence.lose();
    released = owner.end();
  }
  log.info('the rate-limit lease goes', { app, ending });
  if (ending === 'lost')
    throw ApplicationFailure.create({ type: 'LEASE_LOST', message: 'another process may have it' });
  return { ...released, runId, recoveredAtMs };
}

/** The lease belongs to an `app_id`; people look for it by the name that the application has now. */
function tellName(client: Client, app: string): void {
  const { workflowId, runId } = activityInfo().workflowExecution ?? {};
  if (workflowId === undefined) return;
  client.workflow
    .getHandle(workflowId, runId)
    .signal(servedAsSignal, app)
    .catch((error: unknown) => log.warn('the rate-limit lease keeps an old name', { app, error }));
}

/** Until the lease is lost, is asked for, has been held for a day, or this process wants to be rid of it. */
async function untilOver(owner: LeaseOwner, renewals: Renewals, clock: Clock): Promise<Ending> {
  const context = Context.current();
  const over = new AbortController();
  const stopBeats = repeat(clock, TELL_SDK_EVERY_MS, () => context.heartbeat(owner.note()));
  let stopTerm: () => void = () => undefined;
  try {
    return await new Promise((resolve) => {
      renewals.start(resolve);
      context.cancellationSignal.addEventListener('abort', () => resolve(whyCancelled(context)));
      if (context.cancellationSignal.aborted) resolve(whyCancelled(context));
      stopTerm = clock.after(MAX_TERM_MS, () => resolve('given'));
      owner.wantsToGive(over.signal).then(
        () => resolve('given'),
        () => undefined,
      );
    });
  } finally {
    over.abort();
    stopBeats();
    stopTerm();
  }
}

/** A shutdown of this worker, or of the workflow, is an end in good order. */
function whyCancelled({ cancellationDetails }: Context): Ending {
  if (cancellationDetails?.notFound || cancellationDetails?.timedOut) return 'lost';
  return 'given';
}
