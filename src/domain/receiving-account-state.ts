/** What an opening workflow remembers, and how it says where it stands. */
import type { AttentionOf, OpeningAttentionCode } from './attention-codes.ts';
import type { OpeningPhase, ReceivingAccountResult, ReceivingAccountState } from './receiving-account.ts';

export interface OpeningRecord {
  phase: OpeningPhase;
  /** Unix milliseconds. */
  startedAtMs: number;
  /** The payer's accounts of this currency before the first send; undefined when the provider did not say. */
  before?: string[] | undefined;
  /** The same, as last asked. */
  listed?: string[] | undefined;
  /**
   * Sends that may have taken effect, by this run or an earlier one: nobody knows. While there are any, only an
   * account or a person ends the opening, whatever becomes of a later send.
   */
  unsettled: number;
  /** Times in a row that nothing could be sent. */
  unsent: number;
  /** How often the provider said that it did not serve the send. */
  turnedAway: number;
  lastAskedAtMs: number;
  /** Until then the provider is asked without a person. */
  settlesAtMs: number;
  attention: AttentionOf<OpeningAttentionCode>[];
  result?: ReceivingAccountResult | undefined;
}

export function newOpening(startedAtMs: number): OpeningRecord {
  return {
    phase: 'CHECKING',
    startedAtMs,
    unsettled: 0,
    unsent: 0,
    turnedAway: 0,
    lastAskedAtMs: 0,
    settlesAtMs: 0,
    attention: [],
  };
}

const LONGEST_UNSENT_PAUSE_MS = 3_600_000;
/** Times in a row that deserve a look, and those after which a person decides: about half a day. */
const UNSENT_BEFORE_FLAG = 3;
const UNSENT_BEFORE_REVIEW = 24;

/** What follows when nothing could be sent once more. */
export function afterUnsent(unsent: number): { pauseMs: number; flag: boolean } | 'review' {
  if (unsent >= UNSENT_BEFORE_REVIEW) return 'review';
  const pauseMs = Math.min(LONGEST_UNSENT_PAUSE_MS, 1_000 * 2 ** (unsent - 1));
  return { pauseMs, flag: unsent >= UNSENT_BEFORE_FLAG };
}

/** Accounts that may be the one whose opening was never answered. */
export function candidatesOf({ before = [], listed = [] }: OpeningRecord): string[] {
  return listed.filter((accountId) => !before.includes(accountId));
}

export function openingState(record: OpeningRecord, requestId: string): ReceivingAccountState {
  const { phase, attention, result, lastAskedAtMs } = record;
  return {
    requestId,
    phase,
    ...SENTENCES[phase](record),
    needsAttention: attention.length > 0,
    reasons: attention,
    ...(phase === 'NEEDS_REVIEW' && { candidates: candidatesOf(record) }),
    ...(lastAskedAtMs > 0 && { lastAskedAt: iso(lastAskedAtMs) }),
    ...result,
  };
}

interface Said {
  sentence: string;
  nextStep: string;
}

const SENTENCES: Record<OpeningPhase, (record: OpeningRecord) => Said> = {
  CHECKING: () => ({
    sentence: 'Asking which accounts the payer has in this currency.',
    nextStep: 'The account is asked for next.',
  }),
  OPENING: () => ({
    sentence: 'The account is being asked for.',
    nextStep: "The provider's answer, or a look at its list of accounts if none comes.",
  }),
  RECONCILING: ({ settlesAtMs }) => ({
    sentence: 'It is not known whether the account was opened; the list of accounts is being asked for.',
    nextStep: `Asked again until ${iso(settlesAtMs)}; nothing is sent before.`,
  }),
  NEEDS_REVIEW: (record) => ({
    sentence: `It is not known whether the account was opened; ${found(candidatesOf(record).length)}.`,
    nextStep: 'A person finds out and uses the update resolve; nothing is sent before.',
  }),
  DONE: ({ result }) => ({
    sentence:
      result?.outcome === 'OPENED'
        ? `Opened${result.accountId ? ` as ${result.accountId}` : ''}.`
        : `No account was opened: ${result?.reason?.message ?? 'no reason given'}.`,
    nextStep: 'Nothing.',
  }),
};

function found(candidates: number): string {
  if (candidates === 0) return 'the list of accounts shows no new one';
  return candidates === 1
    ? 'the list of accounts shows one that may be it'
    : `the list of accounts shows ${candidates} that may be it`;
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
