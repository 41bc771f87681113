/** The activities as workflows call them: which queue, how urgent, how long, how often again. */
import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { LocalActivities, ServiceActivities } from '../activities/types.ts';
import { CREATE_TIMEOUT_MS } from '../domain/deadlines.ts';
import { NEVER, NEXT_POLL_IS_THE_RETRY, UNTIL_ANSWERED } from './retry-policies.ts';

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

/** Ample for one HTTP exchange and the wait for a free moment in the call budget of one process. */
const READ_TIMEOUT = '45s';
/** A worker that was killed is noticed this soon, well before the call's own deadline. */
const HEARTBEAT_TIMEOUT = '8s';

export const local = proxyLocalActivities<LocalActivities>({ startToCloseTimeout: '10s' });

export type Urgency = keyof typeof PRIORITY;

/** The calls on `taskQueue`; `summary` is what the Temporal UI shows on the event. */
export function untilAnswered(taskQueue: string, urgency: Urgency, summary: string) {
  return proxyActivities<ServiceActivities>({
    taskQueue,
    summary,
    startToCloseTimeout: READ_TIMEOUT,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: UNTIL_ANSWERED,
    priority: { priorityKey: PRIORITY[urgency] },
  });
}

export function polled(taskQueue: string, urgency: Urgency, summary: string) {
  return proxyActivities<ServiceActivities>({
    taskQueue,
    summary,
    startToCloseTimeout: READ_TIMEOUT,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: NEXT_POLL_IS_THE_RETRY,
    priority: { priorityKey: PRIORITY[urgency] },
  });
}

export function once(taskQueue: string, summary: string) {
  return proxyActivities<Pick<ServiceActivities, 'createPayout'>>({
    taskQueue,
    summary,
    startToCloseTimeout: CREATE_TIMEOUT_MS,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: NEVER,
    priority: { priorityKey: PRIORITY.create },
  });
}
