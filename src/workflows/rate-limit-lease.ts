/**
 * Gives one process at a time the right to call the provider for one `app_id`: the process that runs the activity
 * `holdLease`. When the owner dies, the activity is retried by the next owner. When the owner gives the lease back, the
 * next activity begins. Runs until it is canceled.
 *
 * It also holds the settings that all processes share. The memo has a copy: it can be read without a worker, and the next
 * workflow takes it over if this one is terminated.
 */
import {
  ActivityCancellationType,
  allHandlersFinished,
  CancellationScope,
  condition,
  isCancellation,
  log,
  makeContinueAsNewFunc,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  sleep,
  upsertMemo,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import { leaseTaskQueue } from '../contract/ids.ts';
import type {
  CallsPerSecondChange,
  LeaseKey,
  LeaseSettings,
  LeaseTerm,
  PauseRequest,
  RateLimitState,
  ReleasedLease,
} from '../contract/rate-limit.ts';
import {
  appRenamedSignal,
  pauseUpdate,
  rateLimitQuery,
  resumeUpdate,
  setCallsPerSecondUpdate,
} from '../contract/workflows.ts';
import {
  changeProblem,
  LEASE_TIMEOUT_MS,
  modeAfter,
  pauseProblem,
  TERM_TIMEOUT_MS,
} from '../domain/rate-limit.ts';
import { logEvent } from '../domain/telemetry.ts';
import { onUpdate } from './shared/messages.ts';

/** The next process may begin at once. It waits by itself until no earlier call can still count. */
const RETRY_INTERVAL_MS = 20;
const FAILURE_PAUSE_MS = 1_000;
/** A term takes about ten history events. */
const TERMS_PER_RUN = 30;

/** The implementation is in the layer above: `src/workers/rate-limit`. */
export interface LeaseActivities {
  /** Runs while this process owns the lease. Returns what the next owner needs. */
  holdLease(term: LeaseTerm): Promise<ReleasedLease>;
}

export async function rateLimitLease(key: LeaseKey, carried: LeaseTerm): Promise<void> {
  const record: LeaseTerm = { ...carried };
  let term = new CancellationScope();
  setHandler(rateLimitQuery, () => stateOf(record));
  // Every change ends the term: see `LeaseSettings`.
  const change = (changed: LeaseSettings): RateLimitState => {
    record.settings = { ...record.settings, ...changed };
    upsertMemo({ settings: record.settings });
    term.cancel();
    return stateOf(record);
  };
  const setCallsPerSecond = (_record: LeaseTerm, { callsPerSecond, by }: CallsPerSecondChange) =>
    change({ callsPerSecond: callsPerSecond ?? undefined, changedBy: by });
  const pause = (_record: LeaseTerm, { by, reason }: PauseRequest) => {
    if (record.settings.paused) return stateOf(record);
    logEvent(log, 'creation.paused', { app: record.app });
    return change({ paused: { by, at: new Date().toISOString(), reason } });
  };
  const resume = (_record: LeaseTerm, _by: Pick<PauseRequest, 'by'>) => {
    if (!record.settings.paused) return stateOf(record);
    logEvent(log, 'creation.resumed', { app: record.app });
    return change({ paused: undefined });
  };
  onUpdate(record, setCallsPerSecondUpdate, setCallsPerSecond, (_record, asked) => changeProblem(asked));
  onUpdate(record, pauseUpdate, pause, (_record, asked) => pauseProblem(asked));
  onUpdate(record, resumeUpdate, resume, (_record, asked) => pauseProblem(asked));
  setHandler(appRenamedSignal, (app) => renameApp(record, app));
  for (let terms = 0; terms < TERMS_PER_RUN; terms += 1) {
    if (CancellationScope.current().consideredCancelled) return;
    term = new CancellationScope();
    setCurrentDetails(detailsOf(record));
    try {
      record.previousOwner = await term.run(() => leaseCalls(key, record).holdLease({ ...record }));
    } catch (error) {
      record.previousOwner = 'unknown';
      if (!isCancellation(error)) await sleep(FAILURE_PAUSE_MS);
    }
  }
  await condition(allHandlersFinished);
  // The memo of the start would otherwise come back.
  const next = makeContinueAsNewFunc<typeof rateLimitLease>({ memo: { settings: record.settings } });
  await next(key, record);
}

function leaseCalls({ environment, appId }: LeaseKey, { app, previousOwner }: LeaseTerm) {
  return proxyActivities<LeaseActivities>({
    taskQueue: leaseTaskQueue(environment, appId),
    summary: `holds the rate-limit lease of ${app} in ${environment}`,
    startToCloseTimeout: TERM_TIMEOUT_MS,
    heartbeatTimeout: LEASE_TIMEOUT_MS[modeAfter(previousOwner)],
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { initialInterval: RETRY_INTERVAL_MS, maximumInterval: RETRY_INTERVAL_MS, backoffCoefficient: 1 },
  });
}

/** Anyone can send the signal, so its argument is checked. A handler must not throw. */
function renameApp(record: LeaseTerm, app: unknown): void {
  if (typeof app !== 'string' || !/^[a-z0-9-]{1,32}$/.test(app) || app === record.app) return;
  record.app = app;
  upsertSearchAttributes({ PayoutApp: [app] });
}

function stateOf({ settings: { callsPerSecond, changedBy, paused } }: LeaseTerm): RateLimitState {
  return { callsPerSecond: callsPerSecond ?? null, changedBy: changedBy ?? null, paused: paused ?? null };
}

function detailsOf({ settings: { callsPerSecond, changedBy, paused, shared } }: LeaseTerm): string {
  const rate =
    callsPerSecond === undefined
      ? "from the workers' configuration"
      : `${callsPerSecond}, set by ${changedBy}`;
  const pause = paused ? `**Paused** by ${paused.by} since ${paused.at}: no create call is sent  \n` : '';
  const set = shared
    ? `version ${shared.version}, set by ${shared.by}, ${shared.at}: ${shared.reason}`
    : '**missing**: no create call is sent';
  return `${pause}Calls per second: ${rate}  \nShared settings: ${set}`;
}
