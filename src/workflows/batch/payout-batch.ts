/**
 * Many payouts at once. The caller adds the rows with `add`, 500 at a time. The batch checks them and starts a part for
 * them; no row is paid before all rows have been added. Then the parts take turns, so that only a window of payouts uses
 * the rate limit.
 *
 * The payouts are not child workflows: they continue if the batch or a part is stopped, and a batch that is started again
 * joins them.
 */
import {
  ApplicationFailure,
  allHandlersFinished,
  condition,
  getExternalWorkflowHandle,
  log,
  type SignalDefinition,
  setHandler,
} from '@temporalio/workflow';
import type { AddedRows, BatchRequest, BatchResult, BatchState } from '../../contract/batch.ts';
import { MAX_ROWS_PER_ADD } from '../../contract/codes.ts';
import { INVALID_PAYOUT_REQUEST } from '../../contract/failures.ts';
import { batchPartWorkflowId } from '../../contract/ids.ts';
import {
  type AddRows,
  addedRowsQuery,
  addUpdate,
  batchStateQuery,
  partReportSignal,
  stopStartingSignal,
  turnSignal,
} from '../../contract/workflows.ts';
import { type BatchPart, type BatchRecord, isPartReport } from '../../domain/batch.ts';
import { publishBatch } from '../../domain/events.ts';
import { logEvent } from '../../domain/telemetry.ts';
import { checks, orBadInput } from '../shared/calls.ts';
import { notAccepted, onSignal, onUpdate, runShielded, shielded } from '../shared/messages.ts';
import { startFacts } from '../shared/run-facts.ts';
import { addRows, BatchRun } from './batch-run.ts';

/** How soon the batch notices that a part was stopped. The caller then has to add its rows again. */
const PART_CHECK_INTERVAL = '10m';

export async function payoutBatch(request: BatchRequest, carried?: BatchRecord): Promise<BatchResult> {
  const run = new BatchRun(request, carried);
  installBatchHandlers(run);
  return runShielded(
    () => run.cancel(),
    async () => {
      // Refuses bad input: the only way for this workflow to fail.
      await run.prepare(() => orBadInput(checks.prepareBatch(request, startFacts())));
      const { app } = run.record.request;
      if (!carried) logEvent(log, 'batch.started', { app });
      while (!run.isDone) {
        await untilDone(run);
        // Let in-flight updates finish: an `add` may bring rows for another part.
        await condition(allHandlersFinished);
      }
      run.publisher.publish((published, publish) => publishBatch(published, run.state(), publish));
      logEvent(log, 'batch.ended', { app });
      await run.publisher.end();
      await condition(allHandlersFinished);
      return run.result();
    },
  );
}

async function untilDone(run: BatchRun): Promise<void> {
  while (!run.isDone) {
    const changes = run.changes;
    await signalParts(run);
    await run.continueAsNewWhenLong();
    const wake = () => run.changes > changes || run.shouldContinueAsNew;
    const isWoken = await condition(wake, PART_CHECK_INTERVAL, {
      summary: 'checks that the parts still exist',
    });
    if (!isWoken) run.recheckParts();
  }
  run.show();
}

function installBatchHandlers(run: BatchRun): void {
  setHandler(batchStateQuery, () => run.state());
  setHandler(addedRowsQuery, () => addedRows(run));
  onSignal(partReportSignal, (report) => {
    if (isPartReport(report)) run.acceptReport(report);
  });
  onUpdate(run, addUpdate, shielded(add), shapeProblem);
}

function addedRows({ record }: BatchRun): AddedRows[] {
  return record.parts
    .filter(({ held }) => held)
    .map(({ offset, count, digest }) => ({ offset, count, digest }));
}

async function add(run: BatchRun, rows: AddRows): Promise<BatchState> {
  await run.untilPrepared();
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
async function signalPart(run: BatchRun, part: BatchPart, signal: SignalDefinition): Promise<void> {
  const { app, batchId } = run.record.request;
  const partId = batchPartWorkflowId(app, batchId, part.offset, part.digest);
  try {
    await getExternalWorkflowHandle(partId).signal(signal);
  } catch {
    run.lost(part);
  }
}
