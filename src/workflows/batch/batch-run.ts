/** The state of one batch, shared by its steps. */
import { allHandlersFinished, condition, continueAsNew, setCurrentDetails } from '@temporalio/workflow';
import type { BatchPlan } from '../../activities/batch/batch-activities.ts';
import type { BatchRequest, BatchResult, BatchState, PartReport } from '../../contract/batch.ts';
import {
  type BatchRecord,
  batchResult,
  batchState,
  missingRows,
  newBatchRecord,
  type Slice,
} from '../../domain/batch.ts';
import { Publisher } from '../shared/publish-events.ts';
import { isHistoryLong } from '../shared/run-facts.ts';

/** A report takes about 5 events. */
const MAX_HISTORY_EVENTS = 400;
/** The history holds each slice of rows three times. */
const MAX_HISTORY_BYTES = 3_000_000;

export class BatchRun {
  readonly record: BatchRecord;
  readonly publisher: Publisher;
  /** Counts the changes that the main loop has to act on. */
  changes = 0;
  private prepared: boolean;
  private adding: Promise<unknown> = Promise.resolve();

  constructor(request: BatchRequest, carried: BatchRecord | undefined) {
    this.record = carried ?? newBatchRecord(request);
    this.prepared = carried !== undefined;
    const { record } = this;
    this.publisher = new Publisher(record.log, () =>
      this.prepared ? { ...record, app: record.request.app } : undefined,
    );
  }

  async prepare(prepare: () => Promise<BatchPlan>): Promise<void> {
    if (!this.prepared) Object.assign(this.record, await prepare());
    this.prepared = true;
    this.show();
  }

  untilPrepared(): Promise<void> {
    return condition(() => this.prepared);
  }

  /** Runs one `add` after another, so that no workflow task carries the rows of more than one. */
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
    this.record.canceled = true;
    this.changed();
  }

  acceptReport(report: PartReport): void {
    const slice = this.record.slices.find(({ offset }) => offset === report.offset);
    if (!slice || slice.digest !== report.digest) return;
    const { allStarted, ended } = slice.report ?? { allStarted: false, ended: false };
    slice.report = report;
    // Progress alone is only shown; the main loop has nothing to do.
    if (allStarted !== report.allStarted || ended !== report.ended) this.changed();
    else this.show();
  }

  /** The part was stopped. Its payouts continue, and are joined when the caller adds the rows again. */
  lost(slice: Slice): void {
    if (slice.report?.ended) return;
    slice.held = false;
    slice.hasTurn = false;
    slice.report = undefined;
    this.changed();
  }

  /** Signals every open part again. The signal fails if the part was stopped. */
  recheckParts(): void {
    for (const slice of this.record.slices)
      if (!slice.report?.ended) {
        slice.hasTurn = false;
        slice.isStopping = false;
      }
  }

  get isComplete(): boolean {
    return missingRows(this.record.request.count, this.record.slices).length === 0;
  }

  get isDone(): boolean {
    const { slices, canceled } = this.record;
    if (!canceled && !this.isComplete) return false;
    return slices.every(({ held, report }) => !held || report?.ended);
  }

  get shouldContinueAsNew(): boolean {
    return isHistoryLong(MAX_HISTORY_EVENTS, MAX_HISTORY_BYTES) && allHandlersFinished();
  }

  async continueAsNewWhenLong(): Promise<void> {
    if (!this.shouldContinueAsNew) return;
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
    // Until the request has been checked, its fields may be anything.
    if (!this.prepared) return;
    const { sentence, nextStep, count, added, started, joined, done, rejected, needingAttention } =
      this.state();
    const counts = `${count} rows: ${added} added, ${started} started, ${joined} joined, ${done} done, ${rejected} rejected`;
    const attention = needingAttention > 0 ? [`⚠ ${needingAttention} need attention`] : [];
    setCurrentDetails([sentence, `Next: ${nextStep}`, counts, ...attention].join('\n\n'));
  }
}
