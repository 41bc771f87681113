/** The public types of opening a receiving account: the request, the result and the state. */

import type { AttentionOf, OpeningAttentionCode } from './attention-codes.ts';
import type { StateText } from './payout.ts';
import type { ReceivingAccountRequest } from './provider-records.ts';

export const OPENING_PHASES = [
  'CHECKING',
  'PAUSED',
  'OPENING',
  'RECONCILING',
  'NEEDS_REVIEW',
  'DONE',
] as const;
export type OpeningPhase = (typeof OPENING_PHASES)[number];

export const OPENING_OUTCOMES = ['OPENED', 'NOT_OPENED'] as const;
export type OpeningOutcome = (typeof OPENING_OUTCOMES)[number];

/** Why no account was opened. */
export const OPENING_REASON_CODES = ['REFUSED_BY_PROVIDER', 'CANCELLED', 'RESOLVED_NOT_OPENED'] as const;

export interface OpeningReason {
  code: (typeof OPENING_REASON_CODES)[number];
  message: string;
}

/** The request to open a receiving account (spec: Receiving account request, in camelCase). */
export interface OpeningRequest extends ReceivingAccountRequest {
  /** The application that opens the account. Default `default`. */
  app?: string | undefined;
  /** The user for whom the application acts, if user tokens are used. */
  openId?: string | undefined;
  /** The caller's own id for this request, unique per application. The provider never sees it. */
  requestId: string;
}

/** A validated request: defaults filled in. */
export interface CheckedOpeningRequest extends OpeningRequest {
  app: string;
}

/** The result of an opening. */
export interface ReceivingAccountResult {
  requestId: string;
  outcome: OpeningOutcome;
  /** Set if the outcome is `NOT_OPENED`. */
  reason?: OpeningReason;
  payerId: string;
  currency: string;
  /** Absent if the provider's record has no known id field. */
  accountId?: string;
  /** The provider's record as received, with numbers as text. The spec does not list its fields. */
  account?: Record<string, unknown>;
  learnedBy?: 'answer' | 'person';
}

/** The result of the query `state` and of the update `resolve`. */
export interface ReceivingAccountState extends Partial<ReceivingAccountResult>, StateText {
  phase: OpeningPhase;
  needsAttention: boolean;
  reasons: AttentionOf<OpeningAttentionCode>[];
  /** In review: accounts of this payer and currency that appeared after the request was sent. */
  candidates?: string[];
  /** In review: how many requests this run has sent, or may have sent. */
  sends?: number;
  /** When the provider was last asked. ISO 8601. */
  lastAskedAt?: string;
}

/** Possible names of the record's id. The spec says that it has one, but does not name it. */
export const ID_FIELDS = ['id', 'account_id', 'accountId'] as const;
const MAX_ID_LENGTH = 64;

export function accountIdOf(record: Record<string, unknown>): string | undefined {
  const ids = ID_FIELDS.map((name) => record[name]);
  return ids.find((id): id is string => typeof id === 'string' && id !== '' && id.length <= MAX_ID_LENGTH);
}

/** An account that a person names in a review. It is accepted unless the provider's record contradicts it. */
interface NamedAccount {
  accountId: string;
  /** The provider's record of the account. */
  record: Record<string, unknown>;
  /**
   * The payer's accounts in this currency, now and before the request was sent; undefined if the provider did not list
   * them.
   */
  listed: readonly string[] | undefined;
  before: readonly string[] | undefined;
}

/** Why the account cannot be the requested one, or undefined. */
export function accountMismatch(
  { payerId, currency }: CheckedOpeningRequest,
  { accountId, record, listed, before }: NamedAccount,
): string | undefined {
  const field = (...names: string[]) =>
    names.map((name) => record[name]).find((value) => value !== undefined);
  const owner = field('payer_id', 'payerId');
  const accountCurrency = field('currency', 'currnecy');
  if (before?.includes(accountId)) return 'it existed before the request was sent';
  if ((accountIdOf(record) ?? accountId) !== accountId) return 'the provider answered with another account';
  if (owner !== undefined && owner !== payerId) return 'it belongs to another payer';
  if (accountCurrency !== undefined && accountCurrency !== currency) return `its currency is not ${currency}`;
  if (owner === undefined && !listed?.includes(accountId))
    return "neither its record nor the payer's accounts show that it belongs to this payer";
  return undefined;
}
