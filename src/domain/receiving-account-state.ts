/** What an opening workflow remembers, and how it says where it stands. */
import type { Attention } from './payout.ts';
import type { OpeningPhase, ReceivingAccountResult, ReceivingAccountState } from './receiving-account.ts';

export interface OpeningRecord {
  phase: OpeningPhase;
  /** The payer's accounts of this currency before the send; undefined when the service did not say. */
  before?: string[] | undefined;
  /** The same, as last asked. */
  listed?: string[] | undefined;
  sends: number;
  /** How often the service said that it did not serve the send. */
  turnedAway: number;
  lastAskedAtMs: number;
  /** Until then the service is asked without a person. */
  settlesAtMs: number;
  attention: Attention[];
  result?: ReceivingAccountResult | undefined;
}

export function newOpening(): OpeningRecord {
  return { phase: 'CHECKING', sends: 0, turnedAway: 0, lastAskedAtMs: 0, settlesAtMs: 0, attention: [] };
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
    nextStep: 'The answer of the payments service, or a look at its list of accounts if none comes.',
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
