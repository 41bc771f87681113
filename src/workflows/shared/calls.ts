/** The activities as workflows call them: task queue, priority, timeouts and retries. */
import { proxyActivities, type RetryPolicy } from '@temporalio/workflow';
import type { BatchChecks } from '../../activities/batch/batch-types.ts';
import type {
  ReconcileActivities,
  ReportActivities,
} from '../../activities/reconciliation/reconciliation-types.ts';
import type {
  AuthorizationActivities,
  Caller,
  CheckActivities,
  EarlierSendCause,
  PauseActivities,
  ProviderActivities,
  RunFacts,
  TokenActivities,
  TokenPlan,
} from '../../activities/shared/types.ts';
import { fairnessKey, type TokenLane, tokenTaskQueue } from '../../contract/ids.ts';
import type { TokenOwner } from '../../contract/tokens.ts';
import type { PayoutSettings } from '../../domain/payout-record.ts';
import { activityTimeoutMs, TOKEN_HANDOVER_TIMEOUT_MS } from '../../domain/time.ts';
import { activityCause } from './call-failures.ts';
import {
  BACKGROUND_RETRY,
  NEXT_POLL_IS_THE_RETRY,
  NO_RETRY,
  UNTIL_ANSWERED,
  UNTIL_TEMPORAL_ANSWERS,
  untilIssuedOrRefused,
  WHILE_A_PERSON_WAITS,
} from './retry-policies.ts';

/** Which of an application's calls goes first, 1 before 5. Temporal has no other levels. */
export const PRIORITY = {
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
} as const;

/** Detects a killed worker well before the call's own deadline. */
const HEARTBEAT_TIMEOUT = '8s';
/** An exchange is never retried, so detection may be slow. An exchange that waits to hand its tokens to Temporal survives. */
const EXCHANGE_HEARTBEAT_TIMEOUT = '1m';
const CODE_LIFETIME = '30 minutes';

/** Task queue, deadline, and the provider client or payer on whose behalf the call is made. */
export type CallSettings = Pick<PayoutSettings, 'apiQueue' | 'callTimeoutMs'> & {
  /** They take turns within one priority if the Temporal server supports fairness. */
  onBehalfOf?: string | undefined;
};

/** They make no call to the provider, but are not local activities: see docs/decisions/0028-no-local-activities.md. */
export const checks = proxyActivities<CheckActivities & BatchChecks & PauseActivities>({
  startToCloseTimeout: '10s',
  retry: UNTIL_TEMPORAL_ANSWERS,
});

/** Bad input fails the workflow with the check's own error, which names the fields. */
export function orBadInput<T>(check: Promise<T>): Promise<T> {
  return check.catch((error: unknown) => {
    throw activityCause(error) ?? error;
  });
}

/**
 * A Workflow Reset to the last workflow task of an ended run keeps the answer that the run got, and starts that task
 * again. By then, another run may have sent (H107). The workflow's clock shows it, and a replay sees the same clock.
 */
const ANSWER_HOLDS_MS = 1_000;
const MAX_QUESTIONS = 10;

/**
 * Why this run must not end without an order yet; null if it may. An activity compares the run ids, because a branch on
 * them would not replay after a reset. The run must end in the workflow task in which it gets null.
 */
export async function findEarlierSend(caller: Caller, facts: RunFacts): Promise<EarlierSendCause> {
  for (let left = MAX_QUESTIONS; left > 0; left -= 1) {
    const askedAtMs = Date.now();
    const doubt = await checks.findEarlierSend(caller, facts);
    if (doubt !== null || Date.now() - askedAtMs < ANSWER_HOLDS_MS) return doubt;
  }
  // The workers are slow. A confirmation answers the question, too.
  return 'earlier-run';
}

export type Urgency = keyof typeof PRIORITY;

/** Reads that the next step needs. */
export const untilAnswered = readsWith(UNTIL_ANSWERED);
/** Reads with a poll timer behind them. */
export const polled = readsWith(NEXT_POLL_IS_THE_RETRY);
/** Reads on behalf of a person. */
export const asked = readsWith(WHILE_A_PERSON_WAITS);

/** The Temporal UI shows `summary` on the event. */
function readsWith(retry: RetryPolicy) {
  return (settings: CallSettings, urgency: Urgency, summary: string) =>
    proxyActivities<ProviderActivities>({ ...activityOptions(settings, urgency, summary), retry });
}

/** Reads after the end of a payout. A read without an answer within `timeoutMs` fails, which flags the follow-up. */
export function followUpCalls(settings: CallSettings, summary: string, timeoutMs: number) {
  return proxyActivities<Pick<ProviderActivities, 'fetchTradeDetail'>>({
    ...activityOptions(settings, 'followUp', summary),
    scheduleToCloseTimeout: timeoutMs,
    retry: BACKGROUND_RETRY,
  });
}

/** A send: one attempt. It times out if no worker picks it up within `scheduleToStartMs`. */
export function once(settings: CallSettings, urgency: Urgency, summary: string, scheduleToStartMs?: number) {
  return proxyActivities<Pick<ProviderActivities, 'createPayout' | 'openReceivingAccount'>>({
    ...activityOptions(settings, urgency, summary),
    ...(scheduleToStartMs !== undefined && { scheduleToStartTimeout: scheduleToStartMs }),
    retry: NO_RETRY,
  });
}

/** Token calls of one line. `lifetimeMs` is the lifetime of the current token, which bounds the retry interval. */
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
    retry: untilIssuedOrRefused(lifetimeMs),
    // A refresh that becomes urgent is canceled and moves to another queue. An attempt that has begun may finish first,
    // because its answer holds tokens.
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
  });
}

/** The exchange of an authorization code. A code works once, so an exchange whose answer is lost is not retried. */
export function exchangeCalls({ environment, app }: TokenOwner, { callTimeoutMs }: TokenPlan) {
  return proxyActivities<AuthorizationActivities>({
    taskQueue: tokenTaskQueue(environment, app, 'anonymous'),
    summary: 'exchanges the authorization code',
    scheduleToStartTimeout: CODE_LIFETIME,
    startToCloseTimeout: activityTimeoutMs(callTimeoutMs) + TOKEN_HANDOVER_TIMEOUT_MS,
    heartbeatTimeout: EXCHANGE_HEARTBEAT_TIMEOUT,
    retry: NO_RETRY,
  });
}

function activityOptions(
  { apiQueue, callTimeoutMs, onBehalfOf }: CallSettings,
  urgency: Urgency,
  summary: string,
) {
  return {
    taskQueue: apiQueue,
    summary,
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
export const temporalCalls = proxyActivities<ReconcileActivities & ReportActivities>({
  // A call may restart thousands of payouts, at a limited pace.
  startToCloseTimeout: '1h',
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  retry: UNTIL_TEMPORAL_ANSWERS,
});
