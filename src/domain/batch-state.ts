/** What operators and callers read of a batch: one plain sentence, the next step, the counts. */
import {
  type BatchResult,
  type BatchState,
  type BatchTally,
  countBadRows,
  countEndedRows,
  emptyTally,
  sumTallies,
} from './batch.ts';
import { type BatchRecord, missingRows } from './batch-record.ts';

export function batchState(record: BatchRecord, isDone: boolean): BatchState {
  const { request, slices, cancelled } = record;
  const missing = missingRows(request.count, slices);
  const absent = missing.reduce((sum, { count }) => sum + count, 0);
  const result = batchResult(record);
  const phase = isDone ? 'DONE' : record.begun ? 'PAYING' : 'RECEIVING';
  return {
    ...result,
    phase,
    ...said(phase, record, absent, result),
    cancelled,
    added: request.count - absent,
    missing,
  };
}

export function batchResult({ request, slices, cancelled }: BatchRecord): BatchResult {
  const tally = sumTallies(slices.map(({ report }) => report ?? emptyTally()));
  if (cancelled) endAbsentRows(tally, { request, slices });
  return { ...request, ...tally, done: countEndedRows(tally), bad: countBadRows(tally) };
}

/** Nobody will ever start what was not there when the batch was cancelled; nobody knows of rows whose part is gone. */
function endAbsentRows(
  tally: BatchTally,
  { request, slices }: Pick<BatchRecord, 'request' | 'slices'>,
): void {
  for (const { offset, count } of missingRows(request.count, slices)) {
    const wasHeld = slices.some((slice) => slice.offset === offset && !slice.held);
    tally.outcomes[wasHeld ? 'stopped' : 'notStarted'] += count;
    if (wasHeld) tally.rows.stopped.push(...Array.from({ length: count }, (_, at) => offset + at));
  }
}

function said(
  phase: BatchState['phase'],
  { begun, cancelled }: BatchRecord,
  absent: number,
  { count, done }: BatchResult,
): Pick<BatchState, 'sentence' | 'nextStep'> {
  if (phase === 'DONE') return { sentence: `All ${count} rows have ended.`, nextStep: 'Nothing.' };
  if (cancelled)
    return {
      sentence: 'Cancelled: no more rows are started.',
      nextStep: 'Ends when the payouts that were started have ended.',
    };
  if (absent === 0)
    return {
      sentence: begun ? `${done} of ${count} rows have ended.` : 'All rows are in.',
      nextStep: 'Goes on by itself.',
    };
  return begun
    ? {
        sentence: `A part of the batch was stopped by somebody: ${absent} rows are no longer watched.`,
        nextStep: 'Add the missing rows again; those that were started are joined.',
      }
    : { sentence: `${absent} of ${count} rows are missing; nothing is paid yet.`, nextStep: 'Add them.' };
}
