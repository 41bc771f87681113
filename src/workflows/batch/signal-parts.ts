/** Signals the parts: each in turn may begin, and all stop starting payouts once the batch is canceled. */
import { getExternalWorkflowHandle, type SignalDefinition } from '@temporalio/workflow';
import { batchPartWorkflowId } from '../../contract/ids.ts';
import { stopStartingSignal, turnSignal } from '../../contract/workflows.ts';
import type { Slice } from '../../domain/batch.ts';
import type { BatchRun } from './batch-run.ts';

export async function signalParts(run: BatchRun): Promise<void> {
  const { record } = run;
  const open = record.slices.filter(({ held, report }) => held && !report?.ended);
  if (record.canceled)
    for (const slice of open.filter(({ isStopping }) => !isStopping)) {
      slice.isStopping = true;
      await signalPart(run, slice, stopStartingSignal);
    }
  if (!record.allAdded) return;
  for (const slice of withTurn(open).filter(({ hasTurn }) => !hasTurn)) {
    // Canceled during an earlier signal: this part must stop before it gets its turn.
    if (record.canceled && !slice.isStopping) return;
    slice.hasTurn = true;
    await signalPart(run, slice, turnSignal);
  }
}

/** The parts whose turn it is, in the order of their rows: every part that has started its rows, and the next one. */
function withTurn(open: readonly Slice[]): Slice[] {
  const inOrder = [...open].sort((a, b) => a.offset - b.offset);
  const next = inOrder.findIndex(({ report }) => !report?.allStarted);
  return next < 0 ? inOrder : inOrder.filter((slice, index) => index <= next || slice.report?.allStarted);
}

/** Awaits the signal, which fails if the part was stopped. */
async function signalPart(run: BatchRun, slice: Slice, signal: SignalDefinition): Promise<void> {
  const { app, batchId } = run.record.request;
  const part = batchPartWorkflowId(app, batchId, slice.offset, slice.digest);
  try {
    await getExternalWorkflowHandle(part).signal(signal);
  } catch {
    run.lost(slice);
  }
}
