/** Takes one slice of rows: checks it, compares it with the rows added before, and starts a part for it. */
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { ParentClosePolicy, startChild, WorkflowIdReusePolicy, workflowInfo } from '@temporalio/workflow';
import type { CheckedRows } from '../../activities/batch/batch-activities.ts';
import { ROW_KEY_LENGTH } from '../../contract/codes.ts';
import { batchPartWorkflowId } from '../../contract/ids.ts';
import type { AddRows } from '../../contract/workflows.ts';
import { newSlice, type PartRequest, type Slice } from '../../domain/batch.ts';
import { checks } from '../shared/calls.ts';
import type { BatchRun } from './batch-run.ts';
import type { payoutBatchPart } from './payout-batch-part.ts';

type BadFields = Extract<CheckedRows, { ok: false }>['errors'];

/** Returns why the rows were not added, in words or as every bad field; undefined if they were. */
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
  const known = overlapping(record.slices, offset, payouts.length);
  const isSame =
    known?.offset === offset && known.count === payouts.length && known.digest === checked.digest;
  if (known && !isSame)
    return `rows ${known.offset} to ${known.offset + known.count - 1} were added already, with different content`;
  if (known?.held) return undefined;
  if (record.canceled) return 'the batch was canceled';
  const duplicates = known ? [] : duplicatesOf(record.slices, offset, checked.keys);
  if (duplicates.length > 0) return duplicates;
  const slice = known ?? newSlice(offset, payouts.length, checked.digest, checked.keys);
  if (!known) record.slices.push(slice);
  await startPart(run, slice, payouts);
  slice.held = true;
  if (run.isComplete) {
    record.allAdded = true;
    // No more rows can be added, so the keys are no longer needed.
    for (const added of record.slices) added.keys = '';
  }
  run.changed();
  return undefined;
}

function overlapping(slices: readonly Slice[], offset: number, count: number): Slice | undefined {
  return slices.find((slice) => slice.offset < offset + count && offset < slice.offset + slice.count);
}

/** Rows with the `partnerOrderId` of an earlier slice's row. The check finds duplicates within a slice. */
function duplicatesOf(slices: readonly Slice[], offset: number, keys: string): BadFields {
  const rowOf = new Map<string, number>();
  for (const slice of slices)
    for (const [index, key] of splitKeys(slice.keys).entries()) rowOf.set(key, slice.offset + index);
  return splitKeys(keys).flatMap((key, index) => {
    const row = rowOf.get(key);
    if (row === undefined) return [];
    return [{ path: `${offset + index}.partnerOrderId`, message: `is the same as in row ${row}` }];
  });
}

function splitKeys(keys: string): string[] {
  return Array.from({ length: keys.length / ROW_KEY_LENGTH }, (_, index) =>
    keys.slice(index * ROW_KEY_LENGTH, (index + 1) * ROW_KEY_LENGTH),
  );
}

/** The rows belong to the part from now on. The part waits for its turn. */
async function startPart(run: BatchRun, slice: Slice, payouts: AddRows['payouts']): Promise<void> {
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
      // The batch may have been stopped and started again, so an earlier part may have used the id.
      workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
      parentClosePolicy: ParentClosePolicy.ABANDON,
      args: [part],
      staticSummary: `rows ${offset} to ${offset + count - 1} of ${batchId}`,
    });
  } catch (error) {
    // An earlier run of this batch was stopped and left a part with the same rows. It will report to this run.
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}
