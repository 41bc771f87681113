/**
 * The messages of a payout. A signal is a hint: it may arrive at any time, twice or never. A query reads and changes
 * nothing. An update is a caller's decision, and the caller waits for its result.
 */
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { FollowUpResult } from '../domain/follow-up.ts';
import type { PayoutState } from '../domain/payout.ts';

/** A notification from the provider. A hint to query the order, never a fact. */
export interface Notification {
  /** When the notification receiver received it. ISO 8601. */
  receivedAt: string;
  orderId?: string | undefined;
  partnerOrderId?: string | undefined;
  status?: string | undefined;
  body?: unknown;
}

/** The argument of `refuse`. */
export interface Decision {
  /** The name of the approver; not empty. */
  by: string;
  note?: string | undefined;
  /** `quote.lockRateId` of the state that the approver has read. The decision counts for no other quote. */
  lockRateId?: string | undefined;
}

/** The argument of `approve`. */
export interface ApprovalDecision extends Decision {
  /**
   * By how many percent more than the quote that the approver has read the payer may pay, and the fee may be, in a later
   * quote: a percentage below 10, such as `0.5`. Without it, the approval covers only a later quote that is not worse.
   */
  tolerance?: string | undefined;
}

/** The argument of `cancel`. */
export interface CancelRequest {
  by: string;
  reason?: string | undefined;
}

/** The argument of `resolve`: a person's decision about an order of unknown existence. */
export type Resolution = CreatedResolution | NotCreatedResolution;

export interface CreatedResolution {
  by: string;
  created: true;
  orderId: string;
  /** One of the `reviewedOrderIds`: the trade queries have this number for the order (H233). */
  tradeOrderId?: string | undefined;
}

export interface NotCreatedResolution {
  by: string;
  created: false;
  then: 'end' | 'retry';
  /** `sends` of the state that the person has read. The decision does not count after another send. */
  sends?: number | undefined;
  /**
   * `reviewedOrderIds` of the state that the person has read: none of these orders is this payout's. Required while one of
   * them could not be read to compare it.
   */
  reviewedOrderIds?: string[] | undefined;
}

export const notificationSignal = defineSignal<[Notification]>('notification');
export const stateQuery = defineQuery<PayoutState>('state');
export const approveUpdate = defineUpdate<PayoutState, [ApprovalDecision]>('approve');
export const refuseUpdate = defineUpdate<PayoutState, [Decision]>('refuse');
export const cancelUpdate = defineUpdate<PayoutState, [CancelRequest]>('cancel');
export const resolveUpdate = defineUpdate<PayoutState, [Resolution]>('resolve');
export const pollUpdate = defineUpdate<PayoutState>('poll');
/** Of a follow-up, which also receives `notification`: the result so far. */
export const changesQuery = defineQuery<FollowUpResult>('changes');
