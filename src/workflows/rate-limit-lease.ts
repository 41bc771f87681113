/**
 * Which process may call the provider for one `app_id`: the one that runs the activity `holdLease`, and no other. An
 * owner that dies is followed by the activity's next attempt, one that gives the lease back by the next activity. Runs
 * until it is cancelled.
 */
import {
  ActivityCancellationType,
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  sleep,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { LeaseActivities } from '../activities/shared/types.ts';
import { INVALID_CHANGE } from '../contract/failure-types.ts';
import { leaseTaskQueue } from '../contract/ids.ts';
import { rateLimitQuery, servedAsSignal, setCallsPerSecondUpdate } from '../contract/lease-messages.ts';
import {
  type CallsPerSecondChange,
  changeProblem,
  LEASE_TIMEOUT_MS,
  type LeasePlace,
  type LeaseRecord,
  type RateLimitState,
  TERM_TIMEOUT_MS,
} from '../domain/rate-limit-lease.ts';

/** The next process may begin at once; what has to be waited for is the process's own business. */
const NEXT_ATTEMPT_AFTER_MS = 20;
const AFTER_A_FAILURE_MS = 1_000;
/** A term is about ten history events. */
const TERMS_PER_RUN = 30;

export async function rateLimitLease(place: LeasePlace, carried: LeaseRecord): Promise<void> {
  const record: LeaseRecord = { ...carried };
  let term = new CancellationScope();
  setHandler(rateLimitQuery, () => stateOf(record));
  setHandler(
    setCallsPerSecondUpdate,
    (change) => {
      apply(record, change);
      term.cancel();
      return stateOf(record);
    },
    { validator: refuseBadChange },
  );
  setHandler(servedAsSignal, (app) => rename(record, app));
  for (let terms = 0; terms < TERMS_PER_RUN; terms += 1) {
    if (CancellationScope.current().consideredCancelled) return;
    term = new CancellationScope();
    setCurrentDetails(sentenceOf(record));
    await hold(place, record, term);
  }
  await condition(allHandlersFinished);
  await continueAsNew<typeof rateLimitLease>(place, record);
}

/** One term. Keeps what the next one has to know. */
async function hold(place: LeasePlace, record: LeaseRecord, scope: CancellationScope): Promise<void> {
  const { before, callsPerSecond, app } = record;
  try {
    record.before = await scope.run(() => holder(place, app).holdLease({ before, callsPerSecond, app }));
  } catch (error) {
    record.before = 'unknown';
    if (!isCancellation(error)) await sleep(AFTER_A_FAILURE_MS);
  }
}

function holder({ environment, appId }: LeasePlace, app: string) {
  return proxyActivities<LeaseActivities>({
    taskQueue: leaseTaskQueue(environment, appId),
    summary: `holds the rate-limit lease of ${app} in ${environment}`,
    startToCloseTimeout: TERM_TIMEOUT_MS,
    heartbeatTimeout: LEASE_TIMEOUT_MS,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: {
      initialInterval: NEXT_ATTEMPT_AFTER_MS,
      maximumInterval: NEXT_ATTEMPT_AFTER_MS,
      backoffCoefficient: 1,
    },
  });
}

function refuseBadChange(change: CallsPerSecondChange): void {
  const problem = changeProblem(change);
  if (problem) throw ApplicationFailure.nonRetryable(problem, INVALID_CHANGE);
}

function apply(record: LeaseRecord, { callsPerSecond, by }: CallsPerSecondChange): void {
  record.callsPerSecond = callsPerSecond ?? undefined;
  record.changedBy = by;
}

/** Anybody may have sent the signal, and a handler must not throw. */
function rename(record: LeaseRecord, app: unknown): void {
  if (typeof app !== 'string' || !/^[a-z0-9-]{1,32}$/.test(app) || app === record.app) return;
  record.app = app;
  upsertSearchAttributes({ PayoutApp: [app] });
}

function stateOf({ callsPerSecond, changedBy }: LeaseRecord): RateLimitState {
  return { callsPerSecond: callsPerSecond ?? null, changedBy: changedBy ?? null };
}

function sentenceOf({ callsPerSecond, changedBy }: LeaseRecord): string {
  if (callsPerSecond === undefined) return "Calls a second: by the workers' configuration";
  return `Calls a second: ${callsPerSecond}, set by ${changedBy}`;
}
