/** One batch as its steps see it: what it remembers, and what follows from it. */
import {
  allHandlersFinished,
  condition,
  continueAsNew,
  setCurrentDetails,
  workflowInfo,
} from '@temporalio/workflow';
import type { BatchPlan } from '../../activities/batch/batch-types.ts';
import type { BatchRequest, BatchResult, BatchState } from '../../domain/batch.ts';
import {
  type BatchRecord,
  missingRows,
  newBatchRecord,
  type PartReport,
  type Slice,
} from '../../domain/batch-record.ts';
import { batchResult, batchState } from '../../domain/batch-state.ts';

/** A run this long is continued as new; a slice of rows stands twice in the history, a report is some 5 events. */
const LONG_HISTORY_EVENTS = 400;
const BIG_HISTORY_BYTES = 3_000_000;

export class BatchRun {
  readonly record: BatchRecord;
  /** Counts what the main loop has to look at. */
  changes = 0;
  private prepared: boolean;
  private adding: Promise<unknown> = Promise.resolve();

  constructor(request: BatchRequest, carried: BatchRecord | undefined) {
    this.record = carried ?? newBatchRecord(request);
    this.prepared = carried !== undefined;
  }

  async prepare(prepare: () => Promise<BatchPlan>): Promise<void> {
    if (!this.prepared) Object.assign(this.record, await prepare());
    this.prepared = true;
    this.show();
  }

  untilPrepared(): Promise<void> {
    return condition(() => this.prepared);
  }

  /** One after the other, so that no workflow task has to carry the rows of more than one `add`. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.adding.then(work);
    this.adding = turn.catch(() => undefined);
    return turn;
  }

  changed(): void {
    this.changes += 1;
    this.show();
  }

  cancel(): void {
    this.record.cancelled = true;
    this.changed();
  }

  heard(report: PartReport): void {
    const slice = this.record.slices.find(({ offset }) => offset === report.offset);
    if (!slice || slice.digest !== report.digest) return;
    const { begun, ended } = slice.report ?? { begun: false, ended: false };
    slice.report = report;
    // Mere progress is shown, and nothing follows from it.
    if (begun !== report.begun || ended !== report.ended) this.changed();
    else this.show();
  }

  /** Somebody stopped the part: what it had started goes on, and its rows are joined when they come again. */
  lost(slice: Slice): void {
    if (slice.report?.ended) return;
    slice.held = false;
    slice.hasTurn = false;
    slice.report = undefined;
    this.changed();
  }

  /** Every part that should be at work is told so again, which fails where there is none. */
  doubtParts(): void {
    for (const slice of this.record.slices) if (!slice.report?.ended) slice.hasTurn = false;
  }

  get isComplete(): boolean {
    return missingRows(this.record.request.count, this.record.slices).length === 0;
  }

  get isDone(): boolean {
    const { slices, cancelled } = this.record;
    if (!cancelled && !this.isComplete) return false;
    return slices.every(({ held, report }) => !held || report?.ended);
  }

  get shouldContinue(): boolean {
    const { historyLength, historySize, continueAsNewSuggested } = workflowInfo();
    const long = historyLength >= LONG_HISTORY_EVENTS || historySize >= BIG_HISTORY_BYTES;
    return (long || continueAsNewSuggested) && allHandlersFinished();
  }

  async continueAsNewWhenLong(): Promise<void> {
    if (!this.shouldContinue) return;
    const { request } = this.record;
    await continueAsNew<(request: BatchRequest, carried: BatchRecord) => Promise<unknown>>(
      request,
      this.record,
    );
  }

  state(): BatchState {
    return batchState(this.record, this.isDone);
  }

  result(): BatchResult {
    return batchResult(this.record);
  }

  show(): void {
    // Until then nobody knows whether it can be read as a batch at all.
    if (!this.prepared) return;
    const { sentence, nextStep, count, added, started, joined, done, bad, needingAttention } = this.state();
    const counts = `${count} rows: ${added} added, ${started} started, ${joined} joined, ${done} done, ${bad} bad`;
    const attention = needingAttention > 0 ? [`⚠ ${needingAttention} wait for a person`] : [];
    setCurrentDetails([sentence, `Next: ${nextStep}`, counts, ...attention].join('\n\n'));
  }
}
