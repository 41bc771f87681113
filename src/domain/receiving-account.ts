/** The public words of opening a receiving account: what callers send, what they get back, what operators read. */

import type { AttentionOf, OpeningAttentionCode } from './attention-codes.ts';
import type { ReceivingAccountRequest } from './provider-records.ts';

export const OPENING_PHASES = ['CHECKING', 'OPENING', 'RECONCILING', 'NEEDS_REVIEW', 'DONE'] as const;
export type OpeningPhase = (typeof OPENING_PHASES)[number];

export const OPENING_OUTCOMES = ['OPENED', 'NOT_OPENED'] as const;
export type OpeningOutcome = (typeof OPENING_OUTCOMES)[number];

/** Why no account was opened. */
export const OPENING_REASON_CODES = ['REFUSED_BY_PROVIDER', 'CANCELLED', 'RESOLVED_NOT_OPENED'] as const;

export interface OpeningReason {
  code: (typeof OPENING_REASON_CODES)[number];
  message: string;
}

/** Spec: Receiving account request, in the caller's spelling. */
export interface ReceivingAccountOrder extends ReceivingAccountRequest {
  /** The application that asks; `default` when absent. */
  app?: string | undefined;
  /** The user the application acts for, where user tokens are used. */
  openId?: string | undefined;
  /** The caller's own number: the identity of this request. The payments service never sees it. */
  requestId: string;
}

/** A request after checking: defaults filled in. */
export interface CheckedReceivingAccountOrder extends ReceivingAccountOrder {
  app: string;
}

/** How the opening ended. */
export interface ReceivingAccountResult {
  requestId: string;
  outcome: OpeningOutcome;
  /** With `NOT_OPENED`. */
  reason?: OpeningReason;
  payerId: string;
  currency: string;
  /** Absent where the service's record has no field that is known to hold it. */
  accountId?: string;
  /** The service's own record, as it wrote it, numbers as text: the spec does not show its fields. */
  account?: Record<string, unknown>;
  learnedBy?: 'answer' | 'person';
}

/** What the `state` query and the update `resolve` answer. */
export interface ReceivingAccountState extends Partial<ReceivingAccountResult> {
  phase: OpeningPhase;
  sentence: string;
  nextStep: string;
  needsAttention: boolean;
  reasons: AttentionOf<OpeningAttentionCode>[];
  /** In review: accounts of this payer and currency that were not there before the request was sent. */
  candidates?: string[];
  /** When the service was last asked. ISO 8601. */
  lastAskedAt?: string;
}

/** Where the record's own id may stand: the spec says that there is one, and not what it is called. */
const ID_FIELDS = ['id', 'account_id', 'accountId'];
const MOST_ID_CHARACTERS = 64;

export function accountIdOf(record: Record<string, unknown>): string | undefined {
  const ids = ID_FIELDS.map((name) => record[name]);
  return ids.find(
    (id): id is string => typeof id === 'string' && id !== '' && id.length <= MOST_ID_CHARACTERS,
  );
}

/** An account that a person names. It counts unless the provider's own record contradicts it. */
export interface NamedAccount {
  accountId: string;
  /** The service's detail of it. */
  record: Record<string, unknown>;
  /** The payer's accounts of this currency now and before the request was sent, as far as the service said. */
  listed: readonly string[] | undefined;
  before: readonly string[] | undefined;
}

/** Why the account cannot be the one that was asked for, or undefined. */
export function notThisAccount(
  { payerId, currency }: CheckedReceivingAccountOrder,
  { accountId, record, listed, before }: NamedAccount,
): string | undefined {
  const said = (...names: string[]) => names.map((name) => record[name]).find((value) => value !== undefined);
  const owner = said('payer_id', 'payerId');
  const kept = said('currency', 'currnecy');
  if (before?.includes(accountId)) return 'it was there before the request was sent';
  if ((accountIdOf(record) ?? accountId) !== accountId) return 'the service answers for another account';
  if (owner !== undefined && owner !== payerId) return 'it belongs to another payer';
  if (kept !== undefined && kept !== currency) return `its currency is not ${currency}`;
  if (owner === undefined && !listed?.includes(accountId))
    return 'neither its detail nor the list of accounts says that it belongs to this payer';
  return undefined;
}
