/**
 * Writes and reads memos. Their values name their facts, because whoever can write to the namespace can put any payload of a
 * workflow into any field of its memo (H336).
 */
import { compact, recordOf } from './compact.ts';
import type { PayoutMemo } from './lists.ts';

type Memo = Readonly<Record<string, unknown>>;

interface Facts extends PayoutMemo {
  environment: string;
  /** The time of a start with which Temporal rejects a second workflow under this id. */
  rejectDuplicate: string | false;
}

/** Facts that the program that starts a workflow tells it. */
export type StartFacts = { [Fact in keyof Facts]?: Facts[Fact] | undefined };

export function startMemo(facts: StartFacts) {
  return { start: compact(facts) };
}

export function startFactsIn(memo: Memo | undefined): Memo {
  const { start, environment, rejectDuplicate } = memo ?? {};
  // Programs in other languages write these two as fields.
  return start === undefined ? { environment, rejectDuplicate } : recordOf(start);
}

/** The name of the caller who started the workflow, if recorded. An empty one would have no limits. */
export function starterIn(memo: Memo | undefined): string | undefined {
  const { startedBy } = startFactsIn(memo);
  return typeof startedBy === 'string' && startedBy !== '' ? startedBy : undefined;
}

/** Marks a payout that may have sent a create call. */
export const CREATE_SENT = { createSent: { createSent: true } };

export function saysCreateSent(memo: Memo | undefined): boolean {
  return recordOf(memo?.['createSent'])['createSent'] === true;
}

/** Marks a workflow that has ended with events that the reconciliation must publish. */
export const UNPUBLISHED = { unpublishedEvents: { unpublishedEvents: true } };

export function saysUnpublished(memo: Memo | undefined): boolean {
  return recordOf(memo?.['unpublishedEvents'])['unpublishedEvents'] === true;
}
