/**
 * Gives one process at a time the right to call the provider for one `app_id`: the process that runs the activity
 * `holdLease`. When the owner dies, the activity is retried by the next owner. When the owner gives the lease back, the
 * next activity begins. Runs until it is canceled.
 */
import {
  ActivityCancellationType,
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
import { leaseTaskQueue } from '../contract/ids.ts';
import { appRenamedSignal, rateLimitQuery, setCallsPerSecondUpdate } from '../contract/lease-messages.ts';
import {
  type CallsPerSecondChange,
  changeProblem,
  LEASE_TIMEOUT_MS,
  type LeaseKey,
  type LeaseRecord,
  type RateLimitState,
  TERM_TIMEOUT_MS,
} from '../domain/rate-limit-lease.ts';
import { notAccepted } from './shared/messages.ts';

/** The next process may begin at once. It waits by itself until no earlier call can still count. */
const RETRY_INTERVAL_MS = 20;
const FAILURE_PAUSE_MS = 1_000;
/** A term takes about ten history events. */
const TERMS_PER_RUN = 30;

export async function rateLimitLease(key: LeaseKey, carried: LeaseRecord): Promise<void> {
  const record: LeaseRecord = { ...carried };
  let term = new CancellationScope();
  setHandler(rateLimitQuery, () => stateOf(record));
  const setCallsPerSecond = ({ callsPerSecond, by }: CallsPerSecondChange): RateLimitState => {
    record.callsPerSecond = callsPerSecond ?? undefined;
    record.changedBy = by;
    term.cancel();
    return stateOf(record);
  };
  setHandler(setCallsPerSecondUpdate, setCallsPerSecond, { validator: refuseInvalidChange });
  setHandler(appRenamedSignal, (app) => renameApp(record, app));
  for (let terms = 0; terms < TERMS_PER_RUN; terms += 1) {
    if (CancellationScope.current().consideredCancelled) return;
    term = new CancellationScope();
    setCurrentDetails(detailsOf(record));
    await runTerm(key, record, term);
  }
  await condition(allHandlersFinished);
  await continueAsNew<typeof rateLimitLease>(key, record);
}

/** Runs one term and records what the next owner needs to know. */
async function runTerm(key: LeaseKey, record: LeaseRecord, scope: CancellationScope): Promise<void> {
  const { previousOwner, callsPerSecond, app } = record;
  try {
    record.previousOwner = await scope.run(() =>
      leaseCalls(key, app).holdLease({ previousOwner, callsPerSecond, app }),
    );
  } catch (error) {
    record.previousOwner = 'unknown';
    if (!isCancellation(error)) await sleep(FAILURE_PAUSE_MS);
  }
}

function leaseCalls({ environment, appId }: LeaseKey, app: string) {
  return proxyActivities<LeaseActivities>({
    taskQueue: leaseTaskQueue(environment, appId),
    summary: `holds the rate-limit lease of ${app} in ${environment}`,
    startToCloseTimeout: TERM_TIMEOUT_MS,
    heartbeatTimeout: LEASE_TIMEOUT_MS,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { initialInterval: RETRY_INTERVAL_MS, maximumInterval: RETRY_INTERVAL_MS, backoffCoefficient: 1 },
  });
}

function refuseInvalidChange(change: CallsPerSecondChange): void {
  const problem = changeProblem(change);
  if (problem) throw notAccepted(problem);
}

/** Anyone can send the signal, so its argument is checked. A handler must not throw. */
function renameApp(record: LeaseRecord, app: unknown): void {
  if (typeof app !== 'string' || !/^[a-z0-9-]{1,32}$/.test(app) || app === record.app) return;
  record.app = app;
  upsertSearchAttributes({ PayoutApp: [app] });
}

function stateOf({ callsPerSecond, changedBy }: LeaseRecord): RateLimitState {
  return { callsPerSecond: callsPerSecond ?? null, changedBy: changedBy ?? null };
}

function detailsOf({ callsPerSecond, changedBy }: LeaseRecord): string {
  if (callsPerSecond === undefined) return "Calls per second: from the workers' configuration";
  return `Calls per second: ${callsPerSecond}, set by ${changedBy}`;
}
