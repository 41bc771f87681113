/** The activities as workflows call them: which queue, how urgent, how long, how often again. */
import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { LocalActivities, ServiceActivities } from '../activities/types.ts';
import { activityTimeoutMs } from '../domain/deadlines.ts';
import type { PayoutSettings } from '../domain/payout.ts';
import { NEVER, NEXT_POLL_IS_THE_RETRY, UNTIL_ANSWERED, WHILE_A_PERSON_WAITS } from './retry-policies.ts';

/**
 * Who goes first in an application's queue, 1 before 5. Token renewal has 1, for nothing works without it.
 */
export const PRIORITY = {
  /** A lock is ticking, or nobody knows whether money moved. */
  create: 2,
  /** The end is known to be near: one or two calls and the payout is off the books. */
  ending: 3,
  /** Not begun yet: delaying it costs nothing but time. */
  beginning: 4,
  /** Only in case a notification got lost. */
  poll: 5,
} as const;

/** A worker that was killed is noticed this soon, well before the call's own deadline. */
const HEARTBEAT_TIMEOUT = '8s';

/** Which queue, and how long a call may take. */
export type CallSettings = Pick<PayoutSettings, 'apiQueue' | 'callTimeoutMs'>;

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

/** Reads on behalf of a person. */
export function asked(settings: CallSettings, summary: string) {
  return proxyActivities<ServiceActivities>({
    ...options(settings, 'beginning', summary),
    retry: WHILE_A_PERSON_WAITS,
  });
}

/** The create. */
export function once(settings: CallSettings, summary: string) {
  return proxyActivities<Pick<ServiceActivities, 'createPayout'>>({
    ...options(settings, 'create', summary),
    retry: NEVER,
  });
}

function options({ apiQueue, callTimeoutMs }: CallSettings, urgency: Urgency, summary: string) {
  return {
    taskQueue: apiQueue,
    summary,
    startToCloseTimeout: activityTimeoutMs(callTimeoutMs),
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    priority: { priorityKey: PRIORITY[urgency] },
  };
}
