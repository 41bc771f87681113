/** One slice of rows: checked, compared with what is there, and handed to a part of its own. */
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  ParentClosePolicy,
  startChild,
  type WorkflowIdReusePolicy,
  workflowInfo,
} from '@temporalio/workflow';
import type { CheckedRows } from '../../activities/batch/batch-types.ts';
import type { AddRows } from '../../contract/batch-messages.ts';
import { batchPartWorkflowId } from '../../contract/ids.ts';
import { ROW_KEY_LENGTH } from '../../domain/batch.ts';
import { newSlice, type PartRequest, type Slice } from '../../domain/batch-record.ts';
import { batchChecks } from './batch-calls.ts';
import type { BatchRun } from './batch-run.ts';
import type { payoutBatchPart } from './payout-batch-part.ts';

type BadFields = Extract<CheckedRows, { ok: false }>['errors'];

/** The part's batch may have been stopped and started again, so its id may have been used. */
const REUSE: WorkflowIdReusePolicy = 'ALLOW_DUPLICATE';

/** Answers why the rows were not taken: in words, or every bad field. */
export async function addRows(run: BatchRun, rows: AddRows): Promise<string | BadFields | undefined> {
  const { record } = run;
  const { app, count } = record.request;
  const { offset, payouts } = rows;
  if (offset + payouts.length > count)
    return `the batch has ${count} rows, and no row ${offset + payouts.length - 1}`;
  const checked = await batchChecks.checkRows(app, offset, payouts);
  if (!checked.ok) return checked.errors;
  const known = overlapping(record.slices, offset, payouts.length);
  if (known && !isSame(known, rows, checked.digest))
    return `rows ${known.offset} to ${known.offset + known.count - 1} are there already, with another content`;
  if (known?.held) return undefined;
  if (record.cancelled) return 'the batch was cancelled';
  const twins = known ? [] : twinsOf(record.slices, offset, checked.keys);
  if (twins.length > 0) return twins;
  const slice = known ?? newSlice(offset, payouts.length, checked.digest, checked.keys);
  if (!known) record.slices.push(slice);
  await hand(run, slice, payouts);
  slice.held = true;
  if (run.isComplete) begin(run);
  run.changed();
  return undefined;
}

function overlapping(slices: readonly Slice[], offset: number, count: number): Slice | undefined {
  return slices.find((slice) => slice.offset < offset + count && offset < slice.offset + slice.count);
}

function isSame(slice: Slice, { offset, payouts }: AddRows, digest: string): boolean {
  return slice.offset === offset && slice.count === payouts.length && slice.digest === digest;
}

/** Within the slice they were found by the check. */
function twinsOf(slices: readonly Slice[], offset: number, keys: string): BadFields {
  const rowOf = new Map<string, number>();
  for (const slice of slices)
    for (const [at, key] of split(slice.keys).entries()) rowOf.set(key, slice.offset + at);
  return split(keys).flatMap((key, at) => {
    const twin = rowOf.get(key);
    if (twin === undefined) return [];
    return [{ path: `${offset + at}.partnerOrderId`, message: `is the same as row ${twin}'s` }];
  });
}

function split(keys: string): string[] {
  return Array.from({ length: keys.length / ROW_KEY_LENGTH }, (_, at) =>
    keys.slice(at * ROW_KEY_LENGTH, (at + 1) * ROW_KEY_LENGTH),
  );
}

/** From here on the rows are the part's; it waits for its turn. */
async function hand(run: BatchRun, slice: Slice, payouts: AddRows['payouts']): Promise<void> {
  const { request, window, environment } = run.record;
  const { app, batchId } = request;
  const { offset, count, digest } = slice;
  const startedBy = workflowInfo().memo?.['startedBy'];
  const part: PartRequest = {
    ...{ environment, app, batchId, offset, count, digest, payouts, window },
    ...(typeof startedBy === 'string' && { startedBy }),
  };
  try {
    await startChild<typeof payoutBatchPart>('payoutBatchPart', {
      workflowId: batchPartWorkflowId(app, batchId, offset, digest),
      workflowIdReusePolicy: REUSE,
      parentClosePolicy: ParentClosePolicy.ABANDON,
      args: [part],
      staticSummary: `rows ${offset} to ${offset + count - 1} of ${batchId}`,
    });
  } catch (error) {
    // The same rows, left by a batch of this name that was stopped: they are told to report here.
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/** All rows are in and good: they are fixed now, and no number has to be compared any more. */
function begin({ record }: BatchRun): void {
  record.begun = true;
  for (const slice of record.slices) slice.keys = '';
}
