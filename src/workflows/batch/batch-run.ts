/** The state of one batch, shared by its steps, and how it takes rows. */
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  allHandlersFinished,
  condition,
  continueAsNew,
  ParentClosePolicy,
  setCurrentDetails,
  startChild,
  WorkflowIdReusePolicy,
  workflowInfo,
} from '@temporalio/workflow';
import type { BatchPlan, CheckedRows } from '../../activities/batch/batch-activities.ts';
import type { BatchRequest, BatchResult, BatchState, PartReport } from '../../contract/batch.ts';
import { ROW_KEY_LENGTH } from '../../contract/codes.ts';
import { batchPartWorkflowId } from '../../contract/ids.ts';
import type { AddRows } from '../../contract/workflows.ts';
import {
  type BatchPart,
  BatchRecord,
  batchResult,
  batchState,
  missingRows,
  type PartRequest,
} from '../../domain/batch.ts';
import { checks } from '../shared/calls.ts';
import { Publisher } from '../shared/publish-events.ts';
import { isHistoryLong } from '../shared/run-facts.ts';
import type { payoutBatchPart } from './payout-batch-part.ts';

/** A report takes about 5 events. */
const MAX_HISTORY_EVENTS = 400;
/** The history holds the rows of each part three times. */
const MAX_HISTORY_BYTES = 3_000_000;

export class BatchRun {
  readonly record: BatchRecord;
  readonly publisher: Publisher;
  /** Counts the changes that the main loop has to act on. */
  changes = 0;
  private prepared: boolean;
  private adding: Promise<unknown> = Promise.resolve();

  constructor(request: BatchRequest, carried: BatchRecord | undefined) {
    this.record = carried ?? new BatchRecord(request);
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
    const part = this.record.parts.find(({ offset }) => offset === report.offset);
    if (!part || part.digest !== report.digest) return;
    const { allStarted, ended } = part.report ?? { allStarted: false, ended: false };
    part.report = report;
    // Progress alone is only shown; the main loop has nothing to do.
    if (allStarted !== report.allStarted || ended !== report.ended) this.changed();
    else this.show();
  }

  /** The part was stopped. Its payouts continue, and are joined when the caller adds the rows again. */
  lost(part: BatchPart): void {
    if (part.report?.ended) return;
    part.held = false;
    part.hasTurn = false;
    part.report = undefined;
    this.changed();
  }

  /** Signals every open part again. The signal fails if the part was stopped. */
  recheckParts(): void {
    for (const part of this.record.parts)
      if (!part.report?.ended) {
        part.hasTurn = false;
        part.isStopping = false;
      }
  }

  get isComplete(): boolean {
    return missingRows(this.record.request.count, this.record.parts).length === 0;
  }

  get isDone(): boolean {
    const { parts, canceled } = this.record;
    if (!canceled && !this.isComplete) return false;
    return parts.every(({ held, report }) => !held || report?.ended);
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

type BadFields = Extract<CheckedRows, { ok: false }>['errors'];

/**
 * Takes rows: checks them, compares them with the rows added before, and starts a part for them. Returns why the rows
 * were not added, in words or as every bad field; undefined if they were.
 */
export async function addRows(
  run: BatchRun,
  { offset, payouts }: AddRows,
): Promise<string | BadFields | undefined> {
  const { record } = run;
  const { app, count } = record.request;
  if (offset + payouts.length > count)
    return `the batch has ${count} rows, and no row ${offset + payouts.length - 1}`;
  const checked = await checks.checkRows(app, offset, payouts);
  if (!checked.ok) return checked.errors;
  const known = overlapping(record.parts, offset, payouts.length);
  const isSame =
    known?.offset === offset && known.count === payouts.length && known.digest === checked.digest;
  if (known && !isSame)
    return `rows ${known.offset} to ${known.offset + known.count - 1} were added already, with different content`;
  if (known?.held) return undefined;
  if (record.canceled) return 'the batch was canceled';
  const duplicates = known ? [] : duplicatesOf(record.parts, offset, checked.keys);
  if (duplicates.length > 0) return duplicates;
  const { digest, keys } = checked;
  const fresh = { offset, count: payouts.length, digest, keys };
  const part: BatchPart = known ?? { ...fresh, held: false, hasTurn: false, isStopping: false };
  if (!known) record.parts.push(part);
  await startPart(run, part, payouts);
  part.held = true;
  if (run.isComplete) {
    record.allAdded = true;
    // No more rows can be added, so the keys are no longer needed.
    for (const added of record.parts) added.keys = '';
  }
  run.changed();
  return undefined;
}

function overlapping(parts: readonly BatchPart[], offset: number, count: number): BatchPart | undefined {
  return parts.find((part) => part.offset < offset + count && offset < part.offset + part.count);
}

/** Rows with the `partnerOrderId` of a row of an earlier part. The check finds duplicates within a part. */
function duplicatesOf(parts: readonly BatchPart[], offset: number, keys: string): BadFields {
  const rowOf = new Map<string, number>();
  for (const part of parts)
    for (const [index, key] of splitKeys(part.keys).entries()) rowOf.set(key, part.offset + index);
  return splitKeys(keys).flatMap((key, index) => {
    const row = rowOf.get(key);
    if (row === undefined) return [];
    return [{ path: `${offset + index}.partnerOrderId`, message: `is the same as in row ${row}` }];
  });
}

function splitKeys(keys: string): string[] {
  return keys.match(new RegExp(`.{${ROW_KEY_LENGTH}}`, 'g')) ?? [];
}

/** The rows belong to the part from now on. The part waits for its turn. */
async function startPart(run: BatchRun, part: BatchPart, payouts: AddRows['payouts']): Promise<void> {
  const { request, window, environment } = run.record;
  const { app, batchId } = request;
  const { offset, count, digest } = part;
  const startedBy = workflowInfo().memo?.['startedBy'];
  const partRequest: PartRequest = {
    environment,
    app,
    batchId,
    offset,
    count,
    digest,
    payouts,
    window,
    ...(typeof startedBy === 'string' && { startedBy }),
  };
  try {
    await startChild<typeof payoutBatchPart>('payoutBatchPart', {
      workflowId: batchPartWorkflowId(app, batchId, offset, digest),
      // The batch may have been stopped and started again, so an earlier part may have used the id.
      workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
      parentClosePolicy: ParentClosePolicy.ABANDON,
      args: [partRequest],
      staticSummary: `rows ${offset} to ${offset + count - 1} of ${batchId}`,
    });
  } catch (error) {
    // An earlier run of this batch was stopped and left a part with the same rows. It will report to this run.
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}
