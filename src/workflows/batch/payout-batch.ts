/**
 * Many payouts at once. The rows come in slices by `add`, each is checked and handed to a part at once, and none
 * is paid before all are there. Then the parts take turns, so that only a window of payouts uses the call budget.
 *
 * The payouts are no children of anything here: whatever becomes of the batch or a part, they live on, and a
 * batch that is started again finds them.
 */
import { allHandlersFinished, CancellationScope, condition, workflowInfo } from '@temporalio/workflow';
import type { BatchRequest, BatchResult } from '../../domain/batch.ts';
import type { BatchRecord } from '../../domain/batch-record.ts';
import { batchChecks } from './batch-calls.ts';
import { BatchLife } from './batch-life.ts';
import { installBatchHandlers } from './handlers.ts';
import { tellParts } from './tell-parts.ts';

/** A part that was stopped by somebody is noticed this soon: its rows then have to be added again. */
const ASK_PARTS_EVERY = '10m';

export async function payoutBatch(request: BatchRequest, carried?: BatchRecord): Promise<BatchResult> {
  const life = new BatchLife(request, carried);
  installBatchHandlers(life);
  CancellationScope.current().cancelRequested.catch(() => life.cancel());
  return CancellationScope.nonCancellable(async () => {
    await life.prepare(() => prepare(request));
    while (!life.isDone) {
      await untilDone(life);
      // Whoever asked for something just now still gets an answer, and rows that came in just now their part.
      await condition(allHandlersFinished);
    }
    return life.result();
  });
}

async function untilDone(life: BatchLife): Promise<void> {
  while (!life.isDone) {
    const changes = life.changes;
    await tellParts(life);
    await life.continueAsNewWhenLong();
    const heard = await condition(() => life.changes > changes || life.shouldContinue, ASK_PARTS_EVERY, {
      summary: 'asks the parts how they are',
    });
    if (!heard) life.doubtParts();
  }
  life.show();
}

/** Decides bad input: the only way for this workflow to fail. */
function prepare(request: unknown) {
  const { workflowId, memo } = workflowInfo();
  return batchChecks.prepareBatch(request, { workflowId, environment: memo?.['environment'] });
}
