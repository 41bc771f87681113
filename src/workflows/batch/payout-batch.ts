/**
 * Many payouts at once. The caller adds the rows with `add`, 500 at a time. The batch checks them and starts a part for
 * them; no row is paid before all rows have been added. Then the parts take turns, so that only a window of payouts uses
 * the rate limit.
 *
 * The payouts are not child workflows: they continue if the batch or a part is stopped, and a batch that is started again
 * joins them.
 */
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  ApplicationFailure,
  allHandlersFinished,
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  log,
  ParentClosePolicy,
  type SignalDefinition,
  setCurrentDetails,
  setHandler,
  startChild,
  WorkflowIdReusePolicy,
  workflowInfo,
} from '@temporalio/workflow';
import type { CheckedRows } from '../../activities/batch/batch-activities.ts';
import type { BatchRequest, BatchResult, BatchState, PartReport } from '../../contract/batch.ts';
import { MAX_ROWS_PER_ADD, ROW_KEY_LENGTH } from '../../contract/codes.ts';
import { compact } from '../../contract/compact.ts';
import { INVALID_PAYOUT_REQUEST } from '../../contract/failures.ts';
import { batchPartWorkflowId } from '../../contract/ids.ts';
import { starterIn, startFactsIn } from '../../contract/memo.ts';
import {
  type AddRows,
  addedRowsQuery,
  addUpdate,
  batchStateQuery,
  type PartSignal,
  partReportSignal,
  stopStartingSignal,
  turnSignal,
} from '../../contract/workflows.ts';
import {
  type BatchPart,
  BatchRecord,
  batchResult,
  batchState,
  isPartReport,
  missingRows,
} from '../../domain/batch.ts';
import { publishBatch } from '../../domain/events.ts';
import { logEvent } from '../../domain/telemetry.ts';
import { checks, orBadInput } from '../shared/calls.ts';
import { notAccepted, onSignal, onUpdate, runShielded, shielded } from '../shared/messages.ts';
import { Publisher } from '../shared/publish-events.ts';
import { carriedOver, isProvenStart, RunHistory, startFacts } from '../shared/run-facts.ts';
import type { payoutBatchPart } from './payout-batch-part.ts';

/** How soon the batch notices that a part was stopped. The caller then has to add its rows again. */
const PART_CHECK_INTERVAL = '10m';

export async function payoutBatch(request: BatchRequest, given?: BatchRecord): Promise<BatchResult> {
  const carried = carriedOver(given);
  const run = new BatchRun(request, carried);
  const { record, publisher } = run;
  setHandler(batchStateQuery, () => run.state());
  setHandler(addedRowsQuery, () =>
    record.parts.filter(({ held }) => held).map(({ offset, count, digest }) => ({ offset, count, digest })),
  );
  onSignal(partReportSignal, (report) => {
    if (isPartReport(report)) run.acceptReport(report);
  });
  onUpdate(run, addUpdate, shielded(add), shapeProblem);
  return runShielded(
    () => run.cancel(),
    async () => {
      // Refuses bad input: the only way for this workflow to fail.
      if (!carried) Object.assign(record, await orBadInput(checks.prepareBatch(request, startFacts())));
      run.isPrepared = true;
      run.show();
      const { app } = record.request;
      if (!carried) logEvent(log, 'batch.started', { app });
      while (!run.isDone) {
        await untilDone(run);
        // Let in-flight updates finish: an `add` may bring rows for another part.
        await condition(allHandlersFinished);
      }
      publisher.publish((published, publish) => publishBatch(published, run.state(), publish));
      logEvent(log, 'batch.ended', { app });
      await publisher.end();
      await condition(allHandlersFinished);
      return batchResult(record);
    },
  );
}

async function untilDone(run: BatchRun): Promise<void> {
  while (!run.isDone) {
    const changes = run.changes;
    await signalParts(run);
    if (run.shouldContinueAsNew)
      await continueAsNew<typeof payoutBatch>(run.record.request, {
        ...run.record,
        continuedAt: run.provenTime(),
      });
    const wake = () => run.changes > changes || run.shouldContinueAsNew;
    const isWoken = await condition(wake, PART_CHECK_INTERVAL, {
      summary: 'checks that the parts still exist',
    });
    if (!isWoken) run.recheckParts();
  }
  run.show();
}

class BatchRun {
  readonly record: BatchRecord;
  readonly publisher: Publisher;
  /** Counts the changes that the main loop has to act on. */
  changes = 0;
  /** Until the request has been checked, its fields may be anything. */
  isPrepared: boolean;
  private readonly isNew: boolean;
  private readonly history = new RunHistory();
  private adding: Promise<unknown> = Promise.resolve();

  constructor(request: BatchRequest, carried: BatchRecord | undefined) {
    this.record = carried ?? new BatchRecord(request);
    this.isPrepared = carried !== undefined;
    this.isNew = isProvenStart(
      carried ? carried.continuedAt : startFactsIn(workflowInfo().memo)['rejectDuplicate'],
    );
    const { record } = this;
    this.publisher = new Publisher(record.log, () =>
      this.isPrepared ? { ...record, app: record.request.app } : undefined,
    );
  }

  /** The time with which this run's parts and its next run prove that they are no old starts, sent again. */
  provenTime(): string | undefined {
    return this.isNew ? new Date().toISOString() : undefined;
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
    return this.history.isLong && allHandlersFinished();
  }

  state(): BatchState {
    return batchState(this.record, this.isDone);
  }

  show(): void {
    if (!this.isPrepared) return;
    const { sentence, nextStep, count, added, started, joined, done, rejected, needingAttention } =
      this.state();
    const counts = `${count} rows: ${added} added, ${started} started, ${joined} joined, ${done} done, ${rejected} rejected`;
    const attention = needingAttention > 0 ? [`⚠ ${needingAttention} need attention`] : [];
    setCurrentDetails([sentence, `Next: ${nextStep}`, counts, ...attention].join('\n\n'));
  }
}

/** What is wrong with the shape of the rows. A refusal by the validator leaves nothing in the history. */
function shapeProblem(_run: BatchRun, rows: Partial<AddRows> | undefined): string | undefined {
  const { offset, payouts } = rows ?? {};
  if (typeof offset !== 'number' || !Number.isInteger(offset) || offset < 0)
    return 'offset: must be an integer, at least 0';
  if (!Array.isArray(payouts) || payouts.length === 0) return 'payouts: must be a list of at least one row';
  if (payouts.length > MAX_ROWS_PER_ADD)
    return `payouts: must be at most ${MAX_ROWS_PER_ADD} rows, not ${payouts.length}`;
  return undefined;
}

async function add(run: BatchRun, rows: AddRows): Promise<BatchState> {
  await condition(() => run.isPrepared);
  const refused = await run.inTurn(() => addRows(run, rows));
  if (refused === undefined) return run.state();
  if (typeof refused === 'string') throw notAccepted(refused);
  const [first] = refused;
  throw ApplicationFailure.nonRetryable(
    `rows are not valid, so none of these rows was added: ${first?.path} ${first?.message}${refused.length > 1 ? ', …' : ''}`,
    INVALID_PAYOUT_REQUEST,
    refused,
  );
}

type BadFields = Extract<CheckedRows, { ok: false }>['errors'];

/**
 * Takes rows: checks them, compares them with the rows added before, and starts a part for them. Returns why the rows
 * were not added, in words or as every bad field; undefined if they were.
 */
async function addRows(run: BatchRun, { offset, payouts }: AddRows): Promise<string | BadFields | undefined> {
  const { parts, request } = run.record;
  const end = offset + payouts.length;
  if (end > request.count) return `the batch has ${request.count} rows, and no row ${end - 1}`;
  const checked = await checks.checkRows(request.app, offset, payouts);
  if (!checked.ok) return checked.errors;
  const known = parts.find((part) => part.offset < end && offset < part.offset + part.count);
  const isSame =
    known?.offset === offset && known.count === payouts.length && known.digest === checked.digest;
  if (known && !isSame)
    return `rows ${known.offset} to ${known.offset + known.count - 1} were added already, with different content`;
  if (known?.held) return undefined;
  if (run.record.canceled) return 'the batch was canceled';
  const duplicates = known ? [] : duplicatesOf(parts, offset, checked.keys);
  if (duplicates.length > 0) return duplicates;
  const { digest, keys } = checked;
  const fresh = { offset, count: payouts.length, digest, keys };
  const part: BatchPart = known ?? { ...fresh, held: false, hasTurn: false, isStopping: false };
  if (!known) parts.push(part);
  await startPart(run, part, payouts);
  part.held = true;
  if (run.isComplete) {
    run.record.allAdded = true;
    // No more rows can be added, so the keys are no longer needed.
    for (const added of parts) added.keys = '';
  }
  run.changed();
  return undefined;
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
async function startPart(
  run: BatchRun,
  { offset, count, digest }: BatchPart,
  payouts: AddRows['payouts'],
): Promise<void> {
  const {
    request: { app, batchId },
    window,
    environment,
  } = run.record;
  const starter = compact({ startedBy: starterIn(workflowInfo().memo), startedAt: run.provenTime() });
  const request = { environment, app, batchId, offset, count, digest, payouts, window, ...starter };
  try {
    await startChild<typeof payoutBatchPart>('payoutBatchPart', {
      workflowId: batchPartWorkflowId(app, batchId, offset, digest),
      // The batch may have been stopped and started again, so an earlier part may have used the id.
      workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
      parentClosePolicy: ParentClosePolicy.ABANDON,
      args: [request],
      staticSummary: `rows ${offset} to ${offset + count - 1} of ${batchId}`,
    });
  } catch (error) {
    // An earlier run of this batch was stopped and left a part with the same rows. It will report to this run.
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/** Signals the parts: each in turn may begin, and all stop starting payouts once the batch is canceled. */
async function signalParts(run: BatchRun): Promise<void> {
  const { record } = run;
  const open = record.parts.filter(({ held, report }) => held && !report?.ended);
  if (record.canceled)
    for (const part of open.filter(({ isStopping }) => !isStopping)) {
      part.isStopping = true;
      await signalPart(run, part, stopStartingSignal);
    }
  if (!record.allAdded) return;
  for (const part of withTurn(open).filter(({ hasTurn }) => !hasTurn)) {
    // Canceled during an earlier signal: this part must stop before it gets its turn.
    if (record.canceled && !part.isStopping) return;
    part.hasTurn = true;
    await signalPart(run, part, turnSignal);
  }
}

/** The parts whose turn it is, in the order of their rows: every part that has started its rows, and the next one. */
function withTurn(open: readonly BatchPart[]): BatchPart[] {
  const inOrder = [...open].sort((a, b) => a.offset - b.offset);
  const next = inOrder.findIndex(({ report }) => !report?.allStarted);
  return next < 0 ? inOrder : inOrder.filter((part, index) => index <= next || part.report?.allStarted);
}

/** Awaits the signal, which fails if the part was stopped. */
async function signalPart(
  run: BatchRun,
  part: BatchPart,
  signal: SignalDefinition<[PartSignal]>,
): Promise<void> {
  const { app, batchId } = run.record.request;
  const partId = batchPartWorkflowId(app, batchId, part.offset, part.digest);
  try {
    await getExternalWorkflowHandle(partId).signal(signal, { signal: signal.name, batchId });
  } catch {
    run.lost(part);
  }
}
