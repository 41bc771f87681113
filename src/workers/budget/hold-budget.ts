/**
 * The activity that is the lease: whoever runs it owns the application's call budget. An owner that gives it back
 * completes it, which is quicker than a retry: Temporal's timers may be a second late.
 */
import { ApplicationFailure, activityInfo, Context, log } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import type { LeaseActivities } from '../../activities/types.ts';
import {
  type LeaseNote,
  type LeaseTerm,
  LONGEST_TERM_MS,
  RENEW_EVERY_MS,
  type Released,
} from '../../domain/rate-limit-lease.ts';
import { Fence } from './fence.ts';
import { type Predecessor, predecessor } from './predecessor.ts';
import { type Ending, Renewals } from './renewals.ts';

/** What owning means in this process. */
export interface BudgetOwner {
  /** The lease is ours, for as long as `fence` says. */
  begin(fence: Fence, before: Predecessor, callsPerSecond: number | undefined): Promise<void>;
  /** From the moment it is called nothing is sent any more. */
  end(): Released;
  learnedMarginMs(): number;
  /** Resolves when this process wants to give the budget to another. */
  wantsToGive(signal: AbortSignal): Promise<void>;
}

export function leaseActivities(owner: BudgetOwner, client: Client): LeaseActivities {
  return { holdBudget: (term) => holdBudget(owner, client, term) };
}

async function holdBudget(owner: BudgetOwner, client: Client, term: LeaseTerm): Promise<Released> {
  const { taskToken, attempt, heartbeatDetails } = activityInfo();
  const fence = new Fence();
  const note = (): LeaseNote => ({ marginMs: owner.learnedMarginMs() });
  const renewals = new Renewals({ client, taskToken, fence, note });
  const before = predecessor(term.before, attempt, heartbeatDetails);
  // This task may have lain in a frozen process: only an answer from Temporal makes it count.
  await renewals.confirm();
  let released: Released;
  let ending: Ending;
  try {
    const ended = untilOver(owner, renewals, note);
    log.info('took the call budget', { app: term.app, silentMs: before.silentMs });
    await owner.begin(fence, before, term.callsPerSecond);
    ending = await ended;
  } finally {
    renewals.stop();
    fence.lose();
    released = owner.end();
  }
  log.info('the call budget goes', { app: term.app, ending });
  if (ending === 'lost')
    throw ApplicationFailure.create({ type: 'LEASE_LOST', message: 'somebody else may have it' });
  return released;
}

/** Until the lease is lost, is asked for, has been held for a day, or this process wants to be rid of it. */
async function untilOver(owner: BudgetOwner, renewals: Renewals, note: () => LeaseNote): Promise<Ending> {
  const context = Context.current();
  const over = new AbortController();
  // Both ways: the SDK's own heartbeats tell it that this activity lives.
  const beats = setInterval(() => context.heartbeat(note()), RENEW_EVERY_MS);
  try {
    return await new Promise((resolve) => {
      renewals.start(resolve);
      context.cancellationSignal.addEventListener('abort', () => resolve(whyCancelled(context)));
      if (context.cancellationSignal.aborted) resolve(whyCancelled(context));
      setTimeout(() => resolve('given'), LONGEST_TERM_MS).unref();
      owner.wantsToGive(over.signal).then(
        () => resolve('given'),
        () => undefined,
      );
    });
  } finally {
    over.abort();
    clearInterval(beats);
  }
}

/** A shutdown of this worker, or of the workflow, is an end in good order. */
function whyCancelled({ cancellationDetails }: Context): Ending {
  if (cancellationDetails?.notFound || cancellationDetails?.timedOut) return 'lost';
  return 'given';
}
