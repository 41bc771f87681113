/**
 * `durable-payouts/client`: starts, steers and reads payouts from another program, without a worker.
 */
export { ConfigError } from '../config/environment.ts';
export { NOT_ACCEPTED_NOW } from '../contract/failure-types.ts';
export type {
  ApprovalDecision,
  CancelRequest,
  Decision,
  Notification,
  Resolution,
} from '../contract/payout-messages.ts';
export type { FieldError, PayoutRequestInput } from '../contract/payout-request.ts';
export { checkPayoutRequest } from '../contract/payout-request.ts';
export type { ReceivingAccountInput } from '../contract/receiving-account.ts';
export type { OpeningResolution } from '../contract/receiving-account-messages.ts';
export type {
  AttentionOf,
  EndpointAttentionCode,
  FollowUpAttentionCode,
  OpeningAttentionCode,
  PayoutAttentionCode,
  TokenAttentionCode,
} from '../domain/attention-codes.ts';
export type { BatchResult, BatchState } from '../domain/batch.ts';
export type { DeliveryOutcome, EndpointState } from '../domain/event-delivery.ts';
export type { EventType } from '../domain/event-log.ts';
export type { EventData } from '../domain/events.ts';
export type { Money } from '../domain/money.ts';
export type {
  AgreedQuote,
  CheckedPayoutRequest,
  Metadata,
  PayoutOutcome,
  PayoutPhase,
  PayoutRequest,
  PayoutResult,
  PayoutState,
  Reason,
  Receiver,
  Split,
  StateText,
} from '../domain/payout.ts';
export { OUTCOMES, PHASES } from '../domain/payout.ts';
export type { Pause, PauseRequest } from '../domain/rate-limit-lease.ts';
export type { ReceivingAccountResult, ReceivingAccountState } from '../domain/receiving-account.ts';
export { BatchConflictError, Batches } from './batches.ts';
export type { BatchRef, NewBatch } from './checked-batch.ts';
export { connectPayouts, type PayoutsConnection, type PayoutsOptions } from './connect.ts';
export { type EndpointRef, Events, type ListedEndpoint, type PublishedEvent, type Resent } from './events.ts';
export { InvalidPayoutRequestError } from './invalid-request.ts';
export type {
  BatchFilter,
  BatchPage,
  ListedBatch,
  ListedPayout,
  PageRequest,
  PayoutFilter,
  PayoutPage,
} from './lists.ts';
export { type Pausable, Pauses } from './pauses.ts';
export {
  type Origin,
  PayoutConflictError,
  type PayoutRef,
  type PayoutSnapshot,
  Payouts,
  type StartedPayout,
} from './payouts.ts';
export { PayoutsError, type PayoutsErrorCode } from './payouts-error.ts';
export { ProviderReads } from './reads.ts';
export {
  type OpeningRef,
  ReceivingAccountConflictError,
  ReceivingAccounts,
  type StartedOpening,
} from './receiving-accounts.ts';
export { TooManyReadsError } from './shared-reads.ts';
export type { WaitOptions } from './until-end.ts';
