/**
 * The activities as workflows call them: task queue, priority, timeouts and retries, and what their failures say. The error
 * types are the codes of the payments client. A call that waits for the rate limit has not failed, so only create calls,
 * follow-ups and reads for a caller limit that wait.
 */

import type { TimeoutType } from '@temporalio/common';
import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  proxyActivities,
  type RetryPolicy,
  TimeoutFailure,
} from '@temporalio/workflow';
import type { batchChecks } from '../../activities/batch/batch-activities.ts';
import type { reconcileActivities } from '../../activities/reconciliation/reconcile-activities.ts';
import type { reportActivities } from '../../activities/reconciliation/report-activities.ts';
import type { preparation, TokenPlan } from '../../activities/shared/preparation.ts';
import type { ProviderActivities } from '../../activities/shared/provider-activities.ts';
import type { TokenActivities } from '../../activities/tokens/token-activities.ts';
import { fairnessKey, type TokenLane, tokenTaskQueue } from '../../contract/ids.ts';
import type { TokenOwner } from '../../contract/tokens.ts';
import type { PayoutSettings } from '../../domain/payout-record.ts';
import { activityTimeoutMs, TOKEN_HANDOVER_TIMEOUT_MS } from '../../domain/time.ts';

/** The request itself is wrong, according to the provider or our own check: a retry cannot help. */
const NON_RETRYABLE = ['ILLEGAL_PARAMETER', 'INVALID_REQUEST'];

/** Every error of a read except RATE_LIMITED: the payout's own loop decides when to ask again. */
const ALL_BUT_RATE_LIMITED = [
  ...NON_RETRYABLE,
  'SYSTEM_ERROR',
  'UNAUTHORIZED',
  'UNAVAILABLE',
  'MALFORMED_ANSWER',
  'AMBIGUOUS',
  'REFUSED',
  'NOT_SENT',
  'ORDER_NOT_EXIST',
];

/** Calls to Temporal and not to the provider: harmless, and the workflow needs an answer. */
export const UNTIL_TEMPORAL_ANSWERS: RetryPolicy = {
  initialInterval: '1s',
  backoffCoefficient: 2,
  maximumInterval: '1m',
};

/**
 * One activity sends a create call, or the request for a receiving account, at most once. The workflow confirms the outcome
 * and never repeats the send blindly.
 */
const NO_RETRY: RetryPolicy = { maximumAttempts: 1 };

/** Which of an application's calls goes first, 1 before 5. Temporal has no other levels. */
const PRIORITY = {
  /** A lock is running out, or it is unknown whether money moved. */
  create: 1,
  /** The end of the payout is one or two calls away, or the payout quotes again. */
  ending: 2,
  /** The payout has not begun: a delay costs only time. */
  beginning: 3,
  /** A poll that has waited too long: as urgent as a beginning, but with its own fairness key. */
  latePoll: 3,
  /** A receiving account: no lock is running out and no money moves. */
  account: 3,
  /** Needed only if a notification was lost. */
  poll: 4,
  /** After the end: uses only the calls that nothing else needs (H22). */
  followUp: 5,
  /** On behalf of a caller: however many there are, no payout waits for one. */
  read: 5,
} as const;

/** Detects a killed worker well before the call's own deadline. */
export const HEARTBEAT_TIMEOUT = '8s';
/** An exchange is never retried, so detection may be slow. An exchange that waits to hand its tokens to Temporal survives. */
const EXCHANGE_HEARTBEAT_TIMEOUT = '1m';
const CODE_LIFETIME = '30 minutes';

/** Task queue, deadline, and the provider client or payer on whose behalf the call is made. */
export type CallSettings = Pick<PayoutSettings, 'apiQueue' | 'callTimeoutMs'> & {
  /** They take turns within one priority if the Temporal server supports fairness. */
  onBehalfOf?: string | undefined;
  /** A call must have begun within this time, and a read ends one attempt later. Default: no limit. */
  withinMs?: number | undefined;
};

/** They make no call to the provider, but are not local activities: see docs/decisions/0028-no-local-activities.md. */
export const checks = proxyActivities<ReturnType<typeof preparation> & ReturnType<typeof batchChecks>>({
  startToCloseTimeout: '10s',
  retry: UNTIL_TEMPORAL_ANSWERS,
});

/** Bad input fails the workflow with the check's own error, which names the fields. */
export function orBadInput<T>(check: Promise<T>): Promise<T> {
  return check.catch((error: unknown) => {
    throw activityCause(error) ?? error;
  });
}

export type Urgency = keyof typeof PRIORITY;

/**
 * Reads that the next step needs (account, quote, confirmation). They change nothing, so they are retried for as long as
 * the provider is unavailable. A call that waits too long is flagged and never fails.
 */
export const untilAnswered = readsWith({ ...UNTIL_TEMPORAL_ANSWERS, nonRetryableErrorTypes: NON_RETRYABLE });

/**
 * Reads with a poll timer behind them. The timer is the retry, so that in an outage not every open payout makes a call
 * per minute. A 429 is no response: the read waits for at least the provider's window of one second (the activity says
 * how long) and is sent again. The same happens after a worker dies.
 */
export const polled = readsWith({
  ...UNTIL_TEMPORAL_ANSWERS,
  initialInterval: '2s',
  nonRetryableErrorTypes: ALL_BUT_RATE_LIMITED,
});

/** Reads on behalf of a person: they survive a brief failure, and report an outage within a minute. */
export const asked = readsWith({
  initialInterval: '1s',
  backoffCoefficient: 2,
  maximumAttempts: 4,
  nonRetryableErrorTypes: [...NON_RETRYABLE, 'UNAUTHORIZED'],
});

/** The Temporal UI shows `summary` on the event. */
function readsWith(retry: RetryPolicy) {
  return (settings: CallSettings, urgency: Urgency, summary: string) =>
    proxyActivities<ProviderActivities>({
      ...activityOptions(settings, urgency, summary),
      // A read that gets its turn just in time has the time for it: under load, every read waits that long.
      ...(settings.withinMs !== undefined && {
        scheduleToCloseTimeout: settings.withinMs + activityTimeoutMs(settings.callTimeoutMs),
      }),
      retry,
    });
}

/** Reads after the end of a payout: they have days, so the retries are slow. A read without a response within `timeoutMs` fails, which flags the follow-up. */
export function followUpCalls(settings: CallSettings, summary: string, timeoutMs: number) {
  return proxyActivities<Pick<ProviderActivities, 'fetchTradeDetail'>>({
    ...activityOptions(settings, 'followUp', summary),
    scheduleToCloseTimeout: timeoutMs,
    retry: {
      initialInterval: '1m',
      backoffCoefficient: 2,
      maximumInterval: '6h',
      nonRetryableErrorTypes: NON_RETRYABLE,
    },
  });
}

/** A send: one attempt. */
export function once(settings: CallSettings, urgency: Urgency, summary: string) {
  return proxyActivities<Pick<ProviderActivities, 'createPayout' | 'openReceivingAccount'>>({
    ...activityOptions(settings, urgency, summary),
    retry: NO_RETRY,
  });
}

/** Slow enough to spare a provider that is down, fast enough for a token with a lifetime of seconds. */
const MAX_TOKEN_INTERVAL_MS = 30_000;
const MIN_TOKEN_INTERVAL_MS = 500;

/** Token calls of one line, until the provider issues a token or refuses. The lifetime is that of the current token. */
export function tokenCalls(
  { environment, app }: TokenOwner,
  { callTimeoutMs }: TokenPlan,
  lane: TokenLane,
  lifetimeMs: number,
  summary: string,
) {
  return proxyActivities<TokenActivities>({
    taskQueue: tokenTaskQueue(environment, app, lane),
    summary,
    startToCloseTimeout: activityTimeoutMs(callTimeoutMs),
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    // A refresh whose response was lost is sent again with the same refresh token: there is no other, and if it was used
    // up the provider says so.
    retry: {
      initialInterval: MIN_TOKEN_INTERVAL_MS,
      backoffCoefficient: 2,
      maximumInterval: Math.min(MAX_TOKEN_INTERVAL_MS, Math.max(MIN_TOKEN_INTERVAL_MS, lifetimeMs / 100)),
      nonRetryableErrorTypes: [...NON_RETRYABLE, 'UNAUTHORIZED', 'REFUSED'],
    },
    // A refresh that becomes urgent is canceled and moves to another queue. An attempt that has begun may finish first,
    // because its response holds tokens.
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
  });
}

/** The exchange of an authorization code. A code works once, so an exchange whose response is lost is not retried. */
export function exchangeCalls({ environment, app }: TokenOwner, { callTimeoutMs }: TokenPlan) {
  return proxyActivities<TokenActivities>({
    taskQueue: tokenTaskQueue(environment, app, 'anonymous'),
    summary: 'exchanges the authorization code',
    scheduleToStartTimeout: CODE_LIFETIME,
    startToCloseTimeout: activityTimeoutMs(callTimeoutMs) + TOKEN_HANDOVER_TIMEOUT_MS,
    heartbeatTimeout: EXCHANGE_HEARTBEAT_TIMEOUT,
    retry: NO_RETRY,
  });
}

function activityOptions(
  { apiQueue, callTimeoutMs, onBehalfOf, withinMs }: CallSettings,
  urgency: Urgency,
  summary: string,
) {
  return {
    taskQueue: apiQueue,
    summary,
    ...(withinMs !== undefined && { scheduleToStartTimeout: withinMs }),
    startToCloseTimeout: activityTimeoutMs(callTimeoutMs),
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    priority: {
      priorityKey: PRIORITY[urgency],
      // A client's late polls have their own key, so that they never wait behind the payouts that it begins.
      ...(onBehalfOf !== undefined && {
        fairnessKey: fairnessKey(urgency === 'latePoll' ? `${onBehalfOf}\npolls` : onBehalfOf),
      }),
    },
  };
}

/** Reads of Temporal for the reconciliation and the report: no rate limit, no priorities. */
export const temporalCalls = proxyActivities<
  ReturnType<typeof reconcileActivities> & ReturnType<typeof reportActivities>
>({
  // A call may restart thousands of payouts, at a limited pace.
  startToCloseTimeout: '1h',
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  retry: UNTIL_TEMPORAL_ANSWERS,
});

/** A call that runs beside other work. `outcome` is set as soon as it has ended. */
export class Running<T> {
  outcome: { value: T } | { error: unknown } | undefined;
  private readonly scope = new CancellationScope();
  private readonly ended: Promise<{ value: T } | { error: unknown }>;

  constructor(work: () => Promise<T>) {
    const settled = this.scope.run(work).then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    this.ended = settled.then((outcome) => {
      this.outcome = outcome;
      return outcome;
    });
  }

  /** Cancels the call unless it has ended. An attempt that has begun may finish first. */
  stop(): Promise<{ value: T } | { error: unknown }> {
    this.scope.cancel();
    return this.ended;
  }
}

/** Why the activity failed; undefined for any other error. */
export function activityCause(error: unknown): Error | undefined {
  return error instanceof ActivityFailure ? error.cause : undefined;
}

/** Why the provider, or our own check, refuses the request: a retry cannot help. */
export function refusalIn(error: unknown): string | undefined {
  const cause = activityCause(error);
  // Temporal does not set `nonRetryable` where the retry policy decides, so the type decides.
  const isRefusal = cause instanceof ApplicationFailure && NON_RETRYABLE.includes(cause.type ?? '');
  return isRefusal ? cause.message : undefined;
}

/** Why a call failed, for a message. */
export function causeOf(error: unknown): string {
  const cause = activityCause(error);
  return cause instanceof ApplicationFailure ? `${cause.type}: ${cause.message}` : 'no response in time';
}

/** A read had no response within its time, or its next attempt would begin after it. */
export function ranOut(error: unknown): boolean {
  if (!(error instanceof ActivityFailure)) return false;
  return error.retryState === 'TIMEOUT' || neverStarted(error) || timedOut(error, 'SCHEDULE_TO_CLOSE');
}

/** No worker has picked the activity up, and none will: Temporal refuses to start it after its time. */
export function neverStarted(error: unknown): boolean {
  return timedOut(error, 'SCHEDULE_TO_START');
}

function timedOut(error: unknown, type: TimeoutType): boolean {
  const cause = activityCause(error);
  return cause instanceof TimeoutFailure && cause.timeoutType === type;
}

/**
 * The activity ended before it claimed its send, so nothing left any process: no worker picked it up, or the worker
 * died or lost its connection before Temporal acknowledged the claim (H60).
 */
export function provesNothingSent(error: unknown): boolean {
  const cause = activityCause(error);
  return cause instanceof TimeoutFailure && cause.lastHeartbeatDetails === undefined;
}
