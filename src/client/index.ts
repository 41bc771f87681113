/**
 * `durable-payouts/client`: what another service needs to start, steer and read payouts, and nothing of a worker.
 * Errors of Temporal come as Temporal's own classes.
 */
export { ConfigError } from '../config/config-error.ts';
export type { FieldError, PayoutRequestInput } from '../contract/payout-request.ts';
export { checkPayoutRequest } from '../contract/payout-request.ts';
export type { ReceivingAccountInput } from '../contract/receiving-account.ts';
export type { BatchResult, BatchState } from '../domain/batch.ts';
export { NOT_ACCEPTED_NOW } from '../domain/failure-types.ts';
export type { Money } from '../domain/money.ts';
export type {
  PayoutOutcome,
  PayoutPhase,
  PayoutRequest,
  PayoutResult,
  PayoutState,
  Receiver,
} from '../domain/payout.ts';
export { OUTCOMES, PHASES } from '../domain/payout.ts';
export type { ReceivingAccountResult, ReceivingAccountState } from '../domain/receiving-account.ts';
export { BatchConflictError, Batches, type BatchRef, type NewBatch } from '../starters/batches.ts';
export { InvalidPayoutRequestError } from '../starters/invalid-request.ts';
export type { ListedPayout, PayoutFilter } from '../starters/payout-list.ts';
export {
  type Origin,
  PayoutConflictError,
  type PayoutRef,
  Payouts,
  type SeenPayout,
  type StartedPayout,
} from '../starters/payouts.ts';
export { ServiceReads } from '../starters/reads.ts';
export {
  type OpeningRef,
  ReceivingAccountConflictError,
  ReceivingAccounts,
  type StartedOpening,
} from '../starters/receiving-accounts.ts';
export type { CancelRequest, Decision, Notification, Resolution } from '../workflows/messages.ts';
export type { OpeningResolution } from '../workflows/opening-messages.ts';
export { connectPayouts, type PayoutsConnection, type PayoutsOptions } from './connect.ts';
