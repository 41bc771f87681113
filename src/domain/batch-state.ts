/** The state of a batch as callers and operators see it: a sentence, the next step and the counts. */
import {
  type BatchResult,
  type BatchState,
  type BatchTally,
  countEndedRows,
  countRejectedRows,
  emptyTally,
  sumTallies,
} from './batch.ts';
import { type BatchRecord, missingRows } from './batch-record.ts';
import type { StateText } from './payout.ts';

export function batchState(record: BatchRecord, isDone: boolean): BatchState {
  const { request, slices, canceled } = record;
  const missing = missingRows(request.count, slices);
  const missingCount = missing.reduce((sum, { count }) => sum + count, 0);
  const result = batchResult(record);
  const phase = isDone ? 'DONE' : record.allAdded ? 'PAYING' : 'RECEIVING';
  return {
    ...result,
    phase,
    ...describe(phase, record, missingCount, result),
    canceled,
    added: request.count - missingCount,
    missing,
  };
}

export function batchResult({ request, slices, canceled }: BatchRecord): BatchResult {
  const tally = sumTallies(slices.map(({ report }) => report ?? emptyTally()));
  if (canceled) countMissingRows(tally, { request, slices });
  return { ...request, ...tally, done: countEndedRows(tally), rejected: countRejectedRows(tally) };
}

/** Rows that were missing at the cancellation are never started. Rows whose part no longer exists count as stopped. */
function countMissingRows(
  tally: BatchTally,
  { request, slices }: Pick<BatchRecord, 'request' | 'slices'>,
): void {
  for (const { offset, count } of missingRows(request.count, slices)) {
    const wasHeld = slices.some((slice) => slice.offset === offset && !slice.held);
    tally.outcomes[wasHeld ? 'stopped' : 'notStarted'] += count;
    if (wasHeld) tally.rows.stopped.push(...Array.from({ length: count }, (_, at) => offset + at));
  }
}

function describe(
  phase: BatchState['phase'],
  { allAdded, canceled }: BatchRecord,
  missingCount: number,
  { count, done }: BatchResult,
): StateText {
  if (phase === 'DONE') return { sentence: `All ${count} rows have ended.`, nextStep: 'Nothing.' };
  if (canceled)
    return {
      sentence: 'Canceled: the batch stops starting rows.',
      nextStep: 'The batch ends when its started payouts have ended.',
    };
  if (missingCount === 0)
    return {
      sentence: allAdded ? `${done} of ${count} rows have ended.` : 'All rows have been added.',
      nextStep: 'None; the batch continues.',
    };
  return allAdded
    ? {
        sentence: `A part of the batch was stopped: ${missingCount} rows are no longer tracked.`,
        nextStep: 'Add the missing rows again. Payouts that were already started are joined.',
      }
    : {
        sentence: `${missingCount} of ${count} rows are missing; no payout has started yet.`,
        nextStep: 'Add the missing rows.',
      };
}
