/** Tells the parts what to do: one after the other they begin, and all stop starting when the batch is cancelled. */
import { getExternalWorkflowHandle, type SignalDefinition } from '@temporalio/workflow';
import { stopStartingSignal, turnSignal } from '../../contract/batch-messages.ts';
import { batchPartWorkflowId } from '../../contract/ids.ts';
import type { Slice } from '../../domain/batch-record.ts';
import type { BatchRun } from './batch-run.ts';

export async function tellParts(run: BatchRun): Promise<void> {
  const { record } = run;
  const open = record.slices.filter(({ held, report }) => held && !report?.ended);
  if (record.cancelled)
    for (const slice of open.filter(({ toldToStop }) => !toldToStop)) {
      slice.toldToStop = true;
      await tell(run, slice, stopStartingSignal);
    }
  if (!record.begun) return;
  for (const slice of mayBeAtWork(open).filter(({ hasTurn }) => !hasTurn)) {
    slice.hasTurn = true;
    await tell(run, slice, turnSignal);
  }
}

/** In the order of their rows: every part that has begun, and the next. */
function mayBeAtWork(open: readonly Slice[]): Slice[] {
  const inOrder = [...open].sort((a, b) => a.offset - b.offset);
  const next = inOrder.findIndex(({ report }) => !report?.begun);
  return next < 0 ? inOrder : inOrder.filter((slice, at) => at <= next || slice.report?.begun);
}

/** Each signal is awaited: a part that cannot be reached is gone. */
async function tell(run: BatchRun, slice: Slice, signal: SignalDefinition): Promise<void> {
  const { app, batchId } = run.record.request;
  const part = batchPartWorkflowId(app, batchId, slice.offset, slice.digest);
  try {
    await getExternalWorkflowHandle(part).signal(signal);
  } catch {
    run.lost(slice);
  }
}
