/**
 * `durable-payouts-client`: starts, steers and reads payouts from another program, without a worker.
 */
export { ConfigError } from '../config/environment.ts';
export type {
  AttentionOf,
  EndpointAttentionCode,
  FollowUpAttentionCode,
  PayoutAttentionCode,
  ReceivingAccountAttentionCode,
  TokenAttentionCode,
} from '../contract/attention-codes.ts';
export type { BatchResult, BatchState } from '../contract/batch.ts';
export type { EventType, PayoutOutcome, PayoutPhase } from '../contract/codes.ts';
export { OUTCOMES, PHASES } from '../contract/codes.ts';
export type { PayoutsErrorCode } from '../contract/errors.ts';
export type { DeliveryOutcome, EndpointState, EventData } from '../contract/events.ts';
export type { FieldError } from '../contract/failures.ts';
export { NOT_ACCEPTED_NOW } from '../contract/failures.ts';
export type { StateText } from '../contract/fields.ts';
export type {
  BatchFilter,
  BatchPage,
  ListedBatch,
  ListedPayout,
  PageRequest,
  PayoutFilter,
  PayoutPage,
} from '../contract/lists.ts';
export type { Money } from '../contract/money.ts';
export type { AgreedQuote, PayoutResult, PayoutState, Reason, Split, Timeline } from '../contract/payout.ts';
export type { CheckedPayoutRequest, Metadata, PayoutRequest, Receiver } from '../contract/payout-request.ts';
export { checkPayoutRequest } from '../contract/payout-request.ts';
export type { Pause, PauseRequest } from '../contract/rate-limit.ts';
export type {
  ReceivingAccountRequest,
  ReceivingAccountResult,
  ReceivingAccountState,
} from '../contract/receiving-account.ts';
export type { StatementFilter, StatementRow } from '../contract/statement.ts';
export type {
  ApprovalDecision,
  CancelRequest,
  Decision,
  Notification,
  ReceivingAccountResolution,
  Resolution,
} from '../contract/workflows.ts';
export { Batches } from './batches.ts';
export type { BatchRef, NewBatch } from './checked-batch.ts';
export { connectPayouts, type PayoutsConnection, type PayoutsOptions } from './connect.ts';
export {
  ConflictError,
  InvalidPayoutRequestError,
  PayoutsError,
  TooManyReadsError,
} from './errors.ts';
export { type EndpointRef, Events, type ListedEndpoint, type PublishedEvent, type Resent } from './events.ts';
export { type Pausable, Pauses } from './leases.ts';
export {
  type Origin,
  type PayoutRef,
  type PayoutSnapshot,
  Payouts,
  type StartedPayout,
} from './payouts.ts';
export { ProviderReads } from './reads.ts';
export {
  type ReceivingAccountRef,
  ReceivingAccounts,
  type StartedReceivingAccount,
} from './receiving-accounts.ts';
export type { WaitOptions } from './steering.ts';
