/** How the creation of an order moves from stage to stage (see `create.ts`). */
import { upsertMemo } from '@temporalio/workflow';
import { activityTimeoutMs } from '../../domain/deadlines.ts';
import type { UnknownCause } from '../../domain/payout-record.ts';
import type { PayoutRun } from './run.ts';

/** The order may exist because of a create that this payout, or an earlier run of it, has sent. */
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

/** The window begins where the create's own deadline ends: until then it may still be on its way (H6). */
export function confirmFirst({ record, settings }: PayoutRun, cause: UnknownCause): void {
  const untilMs = Date.now() + activityTimeoutMs(settings.callTimeoutMs) + settings.confirmationWindowMs;
  record.creation = { stage: 'confirming', cause, untilMs, asks: 0 };
}

/** `orderId`: an order that a person who decides is told of; it does not make the decision void. */
export function enterReview({ record }: PayoutRun, why: string, orderId?: string): void {
  record.creation = { stage: 'review', why };
  record.reviewedOrderId = orderId ?? record.reviewedOrderId;
}

/** This create certainly created nothing: start over with a new quote, within the same limits. */
export function requote(run: PayoutRun): void {
  run.record.quote = undefined;
  startOver(run);
}

/** The next step is a quote again, or the send itself while the lock lives. */
export function startOver({ record }: PayoutRun): void {
  record.restarts += 1;
  record.creation = { stage: 'quoting' };
}
