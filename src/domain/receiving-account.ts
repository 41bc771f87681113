/** The record of a request for a receiving account, and its state as callers and operators see it. */

import type { AttentionOf, ReceivingAccountAttentionCode } from '../contract/attention-codes.ts';
import type { ReceivingAccountPhase } from '../contract/codes.ts';
import type { StateText } from '../contract/fields.ts';
import type {
  CheckedReceivingAccountRequest,
  ReceivingAccountResult,
  ReceivingAccountState,
} from '../contract/receiving-account.ts';
import { OF_NEWER_VERSION } from './payout-state.ts';
import { HOUR_MS, isoTime } from './time.ts';

export class ReceivingAccountRecord {
  phase: ReceivingAccountPhase = 'CHECKING';
  /** Unix milliseconds. */
  startedAtMs: number;
  /** The payer's accounts in this currency before the first send; undefined if the provider didn't list them. */
  before?: string[] | undefined;
  /** Every account that a query has listed. An account doesn't disappear, so a later list without it proves nothing. */
  listed?: string[] | undefined;
  /**
   * Sends of unknown outcome, by this run or an earlier one. While there are any, only a found account or an operator's
   * decision ends the request, whatever the outcome of a later send.
   */
  unknownSends = 0;
  /** Requests that this run has sent, or may have sent. */
  sends = 0;
  /** How many times in a row nothing could be sent. */
  unsent = 0;
  /** How often the provider said that it didn't serve the send. */
  busyAnswers = 0;
  lastAskedAtMs = 0;
  /** The end of the confirmation window. Until then, no review is needed. */
  confirmUntilMs = 0;
  attention: AttentionOf<ReceivingAccountAttentionCode>[] = [];
  result?: ReceivingAccountResult | undefined;

  constructor(startedAtMs: number) {
    this.startedAtMs = startedAtMs;
  }
}

const MAX_UNSENT_PAUSE_MS = HOUR_MS;

/** Failures in a row that set the attention flag, and those that lead to a review (after about half a day). */
const UNSENT_BEFORE_FLAG = 3;
const UNSENT_BEFORE_REVIEW = 24;

/** The reaction to the `unsent`-th failure to send in a row. */
export function unsentBackoff(unsent: number): { pauseMs: number; flag: boolean } | 'review' {
  if (unsent >= UNSENT_BEFORE_REVIEW) return 'review';
  const pauseMs = Math.min(MAX_UNSENT_PAUSE_MS, 1_000 * 2 ** (unsent - 1));
  return { pauseMs, flag: unsent >= UNSENT_BEFORE_FLAG };
}

/** Accounts that appeared since the first send: each may be the one whose request got no response. */
export function candidateAccounts({ before = [], listed = [] }: ReceivingAccountRecord): string[] {
  return listed.filter((accountId) => !before.includes(accountId));
}

export function noteListed(record: ReceivingAccountRecord, listed: readonly string[] | null): void {
  if (listed) record.listed = [...new Set([...(record.listed ?? []), ...listed])];
}

export function receivingAccountState(
  record: ReceivingAccountRecord,
  requestId: string,
): ReceivingAccountState {
  const { phase, attention, result, lastAskedAtMs } = record;
  return {
    requestId,
    phase,
    ...(STATE_TEXTS[phase]?.(record) ?? OF_NEWER_VERSION),
    needsAttention: attention.length > 0,
    reasons: attention,
    ...(phase === 'NEEDS_REVIEW' && { candidates: candidateAccounts(record), sends: record.sends }),
    ...(lastAskedAtMs > 0 && { lastAskedAt: isoTime(lastAskedAtMs) }),
    ...result,
  };
}

const STATE_TEXTS: Record<ReceivingAccountPhase, (record: ReceivingAccountRecord) => StateText> = {
  CHECKING: () => ({
    sentence: "Querying the payer's accounts in this currency.",
    nextStep: 'The request for the account is sent next.',
  }),
  PAUSED: () => ({
    sentence: 'The application is paused or has no shared settings: the request for the account is not sent.',
    nextStep: 'The request is sent within a minute after the pause ends.',
  }),
  OPENING: () => ({
    sentence: 'The request for the account is being sent.',
    nextStep: "If the provider doesn't respond, the payer's accounts are queried.",
  }),
  RECONCILING: ({ confirmUntilMs }) => ({
    sentence: "Querying the payer's accounts: it isn't known whether the account was opened.",
    nextStep: `The queries continue until ${isoTime(confirmUntilMs)}. Nothing is sent before that.`,
  }),
  NEEDS_REVIEW: (record) => ({
    sentence: `It isn't known whether the account was opened; ${describeCandidates(candidateAccounts(record).length)}.`,
    nextStep: 'Find out whether the account exists, then resolve. Nothing is sent before that.',
  }),
  DONE: ({ result }) => ({
    sentence:
      result?.outcome === 'OPENED'
        ? `Opened${result.accountId ? ` as ${result.accountId}` : ''}.`
        : `No account was opened: ${result?.reason?.message ?? 'no reason given'}.`,
    nextStep: 'Nothing.',
  }),
};

function describeCandidates(candidates: number): string {
  const count = candidates === 0 ? 'no' : candidates;
  return `the payer's accounts include ${count} new account${candidates === 1 ? '' : 's'}`;
}

/** Possible names of the record's id. The spec says that it has one, but doesn't name it. */
export const ID_FIELDS = ['id', 'account_id', 'accountId'] as const;
const MAX_ID_LENGTH = 64;

export function accountIdOf(record: Record<string, unknown>): string | undefined {
  const ids = ID_FIELDS.map((name) => record[name]);
  return ids.find((id): id is string => typeof id === 'string' && id !== '' && id.length <= MAX_ID_LENGTH);
}

/** An account that an operator names in a review. It is accepted unless the provider's record contradicts it. */
interface NamedAccount {
  accountId: string;
  /** The provider's record of the account. */
  record: Record<string, unknown>;
  /** The payer's accounts in this currency, now and before the request; undefined if the provider didn't list them. */
  listed: readonly string[] | undefined;
  before: readonly string[] | undefined;
}

/** Why the account can't be the requested one, or undefined. */
export function accountMismatch(
  { payerId, currency }: CheckedReceivingAccountRequest,
  { accountId, record, listed, before }: NamedAccount,
): string | undefined {
  const field = (...names: string[]) =>
    names.map((name) => record[name]).find((value) => value !== undefined);
  const owner = field('payer_id', 'payerId');
  const accountCurrency = field('currency', 'currnecy');
  if (before?.includes(accountId)) return 'it existed before the request was sent';
  if ((accountIdOf(record) ?? accountId) !== accountId) return 'the provider returned another account';
  if (owner !== undefined && owner !== payerId) return 'it belongs to another payer';
  if (accountCurrency !== undefined && accountCurrency !== currency) return `its currency is not ${currency}`;
  if (owner === undefined && !listed?.includes(accountId))
    return "neither its record nor the payer's accounts show that it belongs to this payer";
  return undefined;
}
