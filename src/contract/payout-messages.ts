/**
 * Every message a payout takes, in one place for both sides. Why each is what it is:
 * a *signal* may arrive at any time, twice or never, and is only a hint; a *query* looks and changes
 * nothing; an *update* is somebody's decision and deserves an answer.
 */
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { PayoutState } from '../domain/payout.ts';

/** What the receiver heard from the payments service. A hint to ask, never a truth. */
export interface Notification {
  /** ISO 8601. */
  receivedAt: string;
  orderId?: string | undefined;
  partnerOrderId?: string | undefined;
  status?: string | undefined;
  body?: unknown;
}

export interface Decision {
  /** Who decided: a name, never empty. */
  by: string;
  note?: string | undefined;
}

export interface CancelRequest {
  by: string;
  reason?: string | undefined;
}

/** What a person found out about an order that may or may not exist. */
export type Resolution =
  | { by: string; created: true; orderId: string }
  | { by: string; created: false; then: 'end' | 'retry' };

export const notificationSignal = defineSignal<[Notification]>('notification');
export const stateQuery = defineQuery<PayoutState>('state');
export const approveUpdate = defineUpdate<PayoutState, [Decision]>('approve');
export const refuseUpdate = defineUpdate<PayoutState, [Decision]>('refuse');
export const cancelUpdate = defineUpdate<PayoutState, [CancelRequest]>('cancel');
export const resolveUpdate = defineUpdate<PayoutState, [Resolution]>('resolve');
export const pollUpdate = defineUpdate<PayoutState>('poll');
