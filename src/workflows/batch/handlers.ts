/** The messages that a batch takes. */
import { ApplicationFailure, setHandler } from '@temporalio/workflow';
import type { AddedRows, BatchState } from '../../contract/batch.ts';
import { MAX_ROWS_PER_ADD } from '../../contract/codes.ts';
import { INVALID_PAYOUT_REQUEST } from '../../contract/failures.ts';
import {
  type AddRows,
  addedRowsQuery,
  addUpdate,
  batchStateQuery,
  partReportSignal,
} from '../../contract/workflows.ts';
import { isPartReport } from '../../domain/batch.ts';
import { notAccepted, onSignal, onUpdate, shielded } from '../shared/messages.ts';
import { addRows } from './add-rows.ts';
import type { BatchRun } from './batch-run.ts';

export function installBatchHandlers(run: BatchRun): void {
  setHandler(batchStateQuery, () => run.state());
  setHandler(addedRowsQuery, () => addedRows(run));
  onSignal(partReportSignal, (report) => {
    if (isPartReport(report)) run.acceptReport(report);
  });
  onUpdate(run, addUpdate, shielded(add), shapeProblem);
}

function addedRows({ record }: BatchRun): AddedRows[] {
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
    `rows are not valid, so no row of this slice was added: ${first?.path} ${first?.message}${refused.length > 1 ? ', …' : ''}`,
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
