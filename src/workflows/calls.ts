/** The activities as workflows call them: which queue, how urgent, how long, how often again. */
import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type {
  AuthorizationActivities,
  LocalActivities,
  ServiceActivities,
  TokenActivities,
  TokenPlan,
} from '../activities/types.ts';
import { activityTimeoutMs, mayHaveSentByMs } from '../domain/deadlines.ts';
import { fairnessKey } from '../domain/fairness.ts';
import type { PayoutSettings } from '../domain/payout.ts';
import {
  BACKGROUND_RETRY,
  NEXT_POLL_IS_THE_RETRY,
  NO_RETRY,
  UNTIL_ANSWERED,
  untilGivenOrRefused,
  WHILE_A_PERSON_WAITS,
} from './retry-policies.ts';

/** Who goes first among an application's calls, 1 before 5: the engine knows no more levels than these. */
export const PRIORITY = {
  /** Nothing works without it. Its queue has slots of its own, so that no number of waiting calls starves it. */
  token: 1,
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
    heartbeatTimeout: mayHaveSentByMs(settings.callTimeoutMs),
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

/** Token calls. `livesMs`: how long the token at hand lives, which sets the pace of tries. */
export function renewing({ tokenQueue, callTimeoutMs }: TokenPlan, livesMs: number, summary: string) {
  return proxyActivities<TokenActivities>({
    ...options({ apiQueue: tokenQueue, callTimeoutMs }, 'token', summary),
    retry: untilGivenOrRefused(livesMs),
  });
}

/** The exchange of an authorization code: a code works once, so a lost answer is never followed by another try. */
export function exchanging({ tokenQueue, callTimeoutMs }: TokenPlan) {
  return proxyActivities<AuthorizationActivities>({
    ...options({ apiQueue: tokenQueue, callTimeoutMs }, 'token', 'exchanges the authorization code'),
    retry: NO_RETRY,
  });
}

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
