/** What a batch can be told and asked. Handlers never throw, but for an update that is refused with its reason. */
import { ApplicationFailure, setHandler } from '@temporalio/workflow';
import {
  type AddRows,
  addedRowsQuery,
  addUpdate,
  batchStateQuery,
  partReportSignal,
} from '../../contract/batch-messages.ts';
import { INVALID_PAYOUT_REQUEST, NOT_ACCEPTED_NOW } from '../../contract/failure-types.ts';
import { type AddedRows, type BatchState, MAX_ROWS_PER_ADD } from '../../domain/batch.ts';
import { isPartReport } from '../../domain/batch-record.ts';
import { onSignal } from '../shared/raw-signal.ts';
import { addRows } from './add-rows.ts';
import type { BatchRun } from './batch-run.ts';

export function installBatchHandlers(run: BatchRun): void {
  setHandler(batchStateQuery, () => run.state());
  setHandler(addedRowsQuery, () => taken(run));
  onSignal(partReportSignal, (report) => {
    if (isPartReport(report)) run.heard(report);
  });
  setHandler(addUpdate, (rows) => add(run, rows), {
    validator: (rows) => {
      const problem = unusable(rows);
      if (problem) throw notAccepted(problem);
    },
  });
}

function taken({ record }: BatchRun): AddedRows[] {
  return record.slices
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
    `rows are not valid, and none of this slice was taken: ${first?.path} ${first?.message}${refused.length > 1 ? ', …' : ''}`,
    INVALID_PAYOUT_REQUEST,
    refused,
  );
}

/** By its shape alone: refused without a trace in the history. */
function unusable(rows: Partial<AddRows> | undefined): string | undefined {
  const { offset, payouts } = rows ?? {};
  if (typeof offset !== 'number' || !Number.isInteger(offset) || offset < 0)
    return 'offset: must be a whole number from 0';
  if (!Array.isArray(payouts) || payouts.length === 0) return 'payouts: must be a list of at least one';
  if (payouts.length > MAX_ROWS_PER_ADD)
    return `payouts: must be at most ${MAX_ROWS_PER_ADD} at once, and not ${payouts.length}`;
  return undefined;
}

function notAccepted(problem: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(problem, NOT_ACCEPTED_NOW);
}
