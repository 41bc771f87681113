/** The transitions between the stages of the creation (see `create.ts`). */
import { upsertMemo } from '@temporalio/workflow';
import type { Reason } from '../../contract/payout.ts';
import type { UnknownCause } from '../../domain/payout-record.ts';
import { activityTimeoutMs } from '../../domain/time.ts';
import type { PayoutRun } from './run.ts';

/** A create that this run or an earlier one sent may have created the order. */
export function markOutcomeUnknown(run: PayoutRun, cause: UnknownCause): void {
  noteUnknownSend(run, cause);
  confirmFirst(run, cause);
}

export function noteUnknownSend(run: PayoutRun, cause: UnknownCause): void {
  // The memo outlives the run: a follow-up reads it, and so does a run that reconciliation starts.
  if (!run.record.unknownSend) upsertMemo({ createSent: true });
  run.record.unknownSend ??= { cause, sinceMs: Date.now() };
  run.dropCancel();
}

/** The confirmation window begins when the create's deadline ends: until then it may still be on its way (H6). */
export function confirmFirst({ record, settings }: PayoutRun, cause: UnknownCause, end?: Reason): void {
  const untilMs = Date.now() + activityTimeoutMs(settings.callTimeoutMs) + settings.confirmationWindowMs;
  record.creation = { stage: 'confirming', cause, untilMs, queries: 0, end };
}

export function enterReview({ record }: PayoutRun, reason: string): void {
  record.creation = { stage: 'review', reason };
}

/** The create certainly created nothing: starts over with a new quote, within the same limits. */
export function requote(run: PayoutRun): void {
  run.record.quote = undefined;
  startOver(run);
}

/** The next step is a quote, or the send itself if the lock is still valid. */
export function startOver({ record }: PayoutRun): void {
  record.creationRestarts += 1;
  record.creation = { stage: 'quoting' };
}
