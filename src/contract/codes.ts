/** The public codes. Without zod, because workflows import them. */

export const PAYOUT_TYPES = ['WITHDRAW', 'SUPPLIER'] as const;

export const PHASES = [
  'SCHEDULED',
  'CHECKING',
  'QUOTING',
  'AWAITING_APPROVAL',
  'PAUSED',
  'CREATING',
  'RECONCILING',
  'NEEDS_REVIEW',
  'PROCESSING',
  'FETCHING_DETAIL',
  'DONE',
] as const;
export type PayoutPhase = (typeof PHASES)[number];

export const OUTCOMES = ['SUCCESS', 'PARTIAL_SUCCESS', 'FAILED', 'NOT_CREATED'] as const;
export type PayoutOutcome = (typeof OUTCOMES)[number];

/** Whether money arrived with this outcome. */
export function hasPaid(outcome: unknown): boolean {
  return outcome === 'SUCCESS' || outcome === 'PARTIAL_SUCCESS';
}

/** Why no order was created, or (`PROVIDER_FAILED`) why the order failed. */
export const REASON_CODES = [
  'QUOTE_OUT_OF_LIMITS',
  'INSUFFICIENT_BALANCE',
  'ACCOUNT_NOT_USABLE',
  'APPROVAL_REFUSED',
  'APPROVAL_EXPIRED',
  'REFUSED_BY_PROVIDER',
  'CANCELLED',
  'RESOLVED_NOT_CREATED',
  'PROVIDER_FAILED',
] as const;
export type ReasonCode = (typeof REASON_CODES)[number];

export const AUDIT_STATUSES = ['PROCESSING', 'APPROVED', 'REJECTED', 'RETURNED'] as const;
export type AuditStatus = (typeof AUDIT_STATUSES)[number];

/**
 * The outcomes of a row: the outcome of its payout, or
 * `conflict`: its `partnerOrderId` belongs to a payout with another body;
 * `invalid`: the payout failed as bad input;
 * `stopped`: the payout's workflow no longer exists or is no longer tracked, so it needs an operator;
 * `notStarted`: the batch was canceled before the row was started.
 */
export const ROW_OUTCOMES = [...OUTCOMES, 'conflict', 'invalid', 'stopped', 'notStarted'] as const;
export type RowOutcome = (typeof ROW_OUTCOMES)[number];

/** Outcomes whose rows are listed one by one, because each needs an operator. */
export const LISTED_OUTCOMES = ['conflict', 'invalid', 'stopped'] as const;

/** The maximum number of rows in one `add`, and in one part. */
export const MAX_ROWS_PER_ADD = 500;
export const MAX_ROWS_PER_BATCH = 50_000;

/** Characters of a row's fingerprint: 72 bits, enough that two ids of a batch never collide. */
export const ROW_KEY_LENGTH = 12;

export const RECEIVING_ACCOUNT_PHASES = [
  'CHECKING',
  'PAUSED',
  'OPENING',
  'RECONCILING',
  'NEEDS_REVIEW',
  'DONE',
] as const;
export type ReceivingAccountPhase = (typeof RECEIVING_ACCOUNT_PHASES)[number];

export const RECEIVING_ACCOUNT_OUTCOMES = ['OPENED', 'NOT_OPENED'] as const;
export type ReceivingAccountOutcome = (typeof RECEIVING_ACCOUNT_OUTCOMES)[number];

/** Why no account was opened. */
export const RECEIVING_ACCOUNT_REASON_CODES = [
  'REFUSED_BY_PROVIDER',
  'CANCELLED',
  'RESOLVED_NOT_OPENED',
] as const;

export const EVENT_TYPES = [
  'payout.completed',
  'payout.needs_attention',
  'payout.attention_cleared',
  'payout.awaiting_approval',
  'payout.changed_after_end',
  'batch.completed',
  'token.needs_authorization',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** The event of `payouts events test`. No filter applies to it. */
export const TEST_EVENT_TYPE = 'endpoint.test' as const;

/** A percentage below ten: more is a typing error. */
export const TOLERANCE = /^\d(\.\d{1,2})?$/;

export const TOLERANCE_RULE =
  'must be a percentage below 10 with at most two decimals, as text, such as "0.5"';

/** `NEEDS_REVIEW` as `Needs review`. */
export function label(code: string): string {
  const words = code.toLowerCase().replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
