/** The activities as workflows call them: which queue, how urgent, how long, how often again. */
import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type {
  AuthorizationActivities,
  LocalActivities,
  RecallActivities,
  ServiceActivities,
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
  untilGivenOrRefused,
  WHILE_A_PERSON_WAITS,
  WHILE_THE_ENGINE_IS_AWAY,
} from './retry-policies.ts';

/** Who goes first among an application's calls, 1 before 5: the engine knows no more levels than these. */
export const PRIORITY = {
  /** A lock is ticking, or nobody knows whether money moved. */
  create: 1,
  /** The end is known to be near: one or two calls and the payout is off the books. */
  ending: 2,
  /** Not begun yet: delaying it costs nothing but time. */
  beginning: 3,
  /** A poll that has waited too long: as urgent as a beginning, but in a line of its own. */
  latePoll: 3,
  /** A receiving account: no lock is ticking and no money moves. */
  account: 3,
  /** Only in case a notification got lost. */
  poll: 4,
  /** After the end: only what nobody else needs (H22). */
  followUp: 5,
} as const;

/** A worker that was killed is noticed this soon, well before the call's own deadline. */
const HEARTBEAT_TIMEOUT = '8s';
/** An exchange has no second try, so there is no hurry to notice; one whose tokens wait for Temporal is not given up early. */
const EXCHANGE_HEARTBEAT_TIMEOUT = '1m';
/** The provider takes an authorization code for this long. */
const CODE_EXPIRES = '30 minutes';

/** Which queue, how long a call may take, and on whose behalf. */
export type CallSettings = Pick<PayoutSettings, 'apiQueue' | 'callTimeoutMs'> & {
  /** For whom. Sellers of the same urgency take turns, where the engine knows fairness. */
  seller?: string | undefined;
};

export const local = proxyLocalActivities<LocalActivities>({ startToCloseTimeout: '10s' });

export type Urgency = keyof typeof PRIORITY;

/** Reads that the payout cannot go on without. `summary` is what the Temporal UI shows on the event. */
export function untilAnswered(settings: CallSettings, urgency: Urgency, summary: string) {
  return proxyActivities<ServiceActivities>({
    ...options(settings, urgency, summary),
    retry: UNTIL_ANSWERED,
  });
}

/** Reads with a poll timer behind them. */
export function polled(settings: CallSettings, urgency: Urgency, summary: string) {
  return proxyActivities<ServiceActivities>({
    ...options(settings, urgency, summary),
    retry: NEXT_POLL_IS_THE_RETRY,
  });
}

/** Reads after the end. One that brings no answer within `patienceMs` is given up, so that somebody is told. */
export function spare(settings: CallSettings, summary: string, patienceMs: number) {
  return proxyActivities<Pick<ServiceActivities, 'fetchTradeDetail'>>({
    ...options(settings, 'followUp', summary),
    scheduleToCloseTimeout: patienceMs,
    retry: BACKGROUND_RETRY,
  });
}

/** Reads on behalf of a person. */
export function asked(settings: CallSettings, summary: string) {
  return proxyActivities<ServiceActivities>({
    ...options(settings, 'beginning', summary),
    retry: WHILE_A_PERSON_WAITS,
  });
}

/** The create: one attempt, which Temporal's server ends when no worker takes it up in time. */
export function once(settings: CallSettings, scheduleToStartMs: number, summary: string) {
  return proxyActivities<Pick<ServiceActivities, 'createPayout'>>({
    ...options(settings, 'create', summary),
    scheduleToStartTimeout: scheduleToStartMs,
    retry: NO_RETRY,
  });
}

/** The opening of a receiving account. */
export function openingOnce(settings: CallSettings, summary: string) {
  return proxyActivities<Pick<ServiceActivities, 'openReceivingAccount'>>({
    ...options(settings, 'account', summary),
    retry: NO_RETRY,
  });
}

/** Token calls of one line. `livesMs`: the lifetime of the token at hand, which sets the pace of tries. */
export function renewing(
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
    retry: untilGivenOrRefused(livesMs),
    // A refresh that becomes urgent changes its queue. One that is under way is waited for: its answer holds tokens.
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
  });
}

/** The exchange of an authorization code: a code works once, so a lost answer is never followed by another try. */
export function exchanging({ environment, app }: TokenOwner, { callTimeoutMs }: TokenPlan) {
  return proxyActivities<AuthorizationActivities>({
    taskQueue: tokenTaskQueue(environment, app, 'anonymous'),
    summary: 'exchanges the authorization code',
    scheduleToStartTimeout: CODE_EXPIRES,
    startToCloseTimeout: activityTimeoutMs(callTimeoutMs) + TOKEN_HANDOVER_TIMEOUT_MS,
    heartbeatTimeout: EXCHANGE_HEARTBEAT_TIMEOUT,
    retry: NO_RETRY,
  });
}

/** What earlier runs of a user's renewal left behind. Reads Temporal only. */
export const recalling = proxyActivities<RecallActivities>({
  startToCloseTimeout: '1m',
  retry: WHILE_THE_ENGINE_IS_AWAY,
});

function options({ apiQueue, callTimeoutMs, seller }: CallSettings, urgency: Urgency, summary: string) {
  return {
    taskQueue: apiQueue,
    summary,
    startToCloseTimeout: activityTimeoutMs(callTimeoutMs),
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    priority: {
      priorityKey: PRIORITY[urgency],
      ...(seller !== undefined && { fairnessKey: fairnessKey(lineOf(seller, urgency)) }),
    },
  };
}

/** Sellers take turns. A seller's late polls do so too, and never stand behind whatever else it begins. */
function lineOf(seller: string, urgency: Urgency): string {
  return urgency === 'latePoll' ? `${seller}\npolls` : seller;
}
