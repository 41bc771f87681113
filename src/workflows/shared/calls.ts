/** The activities as workflows call them: task queue, priority, timeouts and retries. */
import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type {
  AuthorizationActivities,
  LocalActivities,
  ProviderActivities,
  RecallActivities,
  TokenActivities,
  TokenPlan,
} from '../../activities/shared/types.ts';
import { type TokenLine, tokenTaskQueue } from '../../contract/ids.ts';
import { activityTimeoutMs, TOKEN_HANDOVER_TIMEOUT_MS } from '../../domain/deadlines.ts';
import { fairnessKey } from '../../domain/fairness.ts';
import type { PayoutSettings } from '../../domain/payout.ts';
import type { TokenOwner } from '../../domain/token-record.ts';
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
  /** A rate lock is running out, or nobody knows whether money moved. */
  create: 1,
  /** The end of the payout is one or two calls away. */
  ending: 2,
  /** The payout has not begun: a delay costs only time. */
  beginning: 3,
  /** A poll that has waited too long: as urgent as a beginning, but with a fairness key of its own. */
  latePoll: 3,
  /** A receiving account: no rate lock is running out and no money moves. */
  account: 3,
  /** Needed only if a notification got lost. */
  poll: 4,
  /** After the end: uses only the calls that nobody else needs (H22). */
  followUp: 5,
} as const;

/** Detects a killed worker well before the call's own deadline. */
const HEARTBEAT_TIMEOUT = '8s';
/** An exchange is never retried, so detection may be slow. An exchange that waits to hand its tokens to Temporal survives. */
const EXCHANGE_HEARTBEAT_TIMEOUT = '1m';
/** How long an authorization code is valid. */
const CODE_LIFETIME = '30 minutes';

/** Task queue, deadline, and the seller on whose behalf the call is made. */
export type CallSettings = Pick<PayoutSettings, 'apiQueue' | 'callTimeoutMs'> & {
  /** Sellers take turns within one priority if the Temporal server supports fairness. */
  seller?: string | undefined;
};

export const local = proxyLocalActivities<LocalActivities>({ startToCloseTimeout: '10s' });

export type Urgency = keyof typeof PRIORITY;

/** Reads that the payout cannot go on without. The Temporal UI shows `summary` on the event. */
export function untilAnswered(settings: CallSettings, urgency: Urgency, summary: string) {
  return proxyActivities<ProviderActivities>({
    ...activityOptions(settings, urgency, summary),
    retry: UNTIL_ANSWERED,
  });
}

/** Reads with a poll timer behind them. */
export function polled(settings: CallSettings, urgency: Urgency, summary: string) {
  return proxyActivities<ProviderActivities>({
    ...activityOptions(settings, urgency, summary),
    retry: NEXT_POLL_IS_THE_RETRY,
  });
}

/** Reads after the end of a payout. A read without an answer within `timeoutMs` fails, so that a person is told. */
export function followUpCalls(settings: CallSettings, summary: string, timeoutMs: number) {
  return proxyActivities<Pick<ProviderActivities, 'fetchTradeDetail'>>({
    ...activityOptions(settings, 'followUp', summary),
    scheduleToCloseTimeout: timeoutMs,
    retry: BACKGROUND_RETRY,
  });
}

/** Reads on behalf of a person. */
export function asked(settings: CallSettings, summary: string) {
  return proxyActivities<ProviderActivities>({
    ...activityOptions(settings, 'beginning', summary),
    retry: WHILE_A_PERSON_WAITS,
  });
}

/** The create: one attempt, which times out if no worker picks it up within `scheduleToStartMs`. */
export function once(settings: CallSettings, scheduleToStartMs: number, summary: string) {
  return proxyActivities<Pick<ProviderActivities, 'createPayout'>>({
    ...activityOptions(settings, 'create', summary),
    scheduleToStartTimeout: scheduleToStartMs,
    retry: NO_RETRY,
  });
}

/** The request for a receiving account: one attempt. */
export function openingCalls(settings: CallSettings, summary: string) {
  return proxyActivities<Pick<ProviderActivities, 'openReceivingAccount'>>({
    ...activityOptions(settings, 'account', summary),
    retry: NO_RETRY,
  });
}

/** Token calls of one line. `livesMs` is the lifetime of the current token, which bounds the retry interval. */
export function tokenCalls(
  { environment, app }: TokenOwner,
  { callTimeoutMs }: TokenPlan,
  line: TokenLine,
  livesMs: number,
  summary: string,
) {
  return proxyActivities<TokenActivities>({
    taskQueue: tokenTaskQueue(environment, app, line),
    summary,
    startToCloseTimeout: activityTimeoutMs(callTimeoutMs),
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: untilIssuedOrRefused(livesMs),
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

/** Reads from Temporal what earlier runs of a user's renewal obtained. */
export const recallCalls = proxyActivities<RecallActivities>({
  startToCloseTimeout: '1m',
  retry: UNTIL_TEMPORAL_ANSWERS,
});

function activityOptions(
  { apiQueue, callTimeoutMs, seller }: CallSettings,
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
      ...(seller !== undefined && { fairnessKey: fairnessKey(fairnessGroup(seller, urgency)) }),
    },
  };
}

/** A seller's late polls have a key of their own, so that they never wait behind the payouts that it begins. */
function fairnessGroup(seller: string, urgency: Urgency): string {
  return urgency === 'latePoll' ? `${seller}\npolls` : seller;
}
