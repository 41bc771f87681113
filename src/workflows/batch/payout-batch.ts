/**
 * Many payouts at once. The rows come in slices by `add`, each is checked and handed to a part at once, and none
 * is paid before all are there. Then the parts take turns, so that only a window of payouts uses the rate limit.
 *
 * The payouts are no children of anything here: whatever becomes of the batch or a part, they live on, and a
 * batch that is started again finds them.
 */
import { allHandlersFinished, CancellationScope, condition, workflowInfo } from '@temporalio/workflow';
import type { BatchRequest, BatchResult } from '../../domain/batch.ts';
import type { BatchRecord } from '../../domain/batch-record.ts';
import { batchChecks } from './batch-calls.ts';
import { BatchRun } from './batch-run.ts';
import { installBatchHandlers } from './handlers.ts';
import { tellParts } from './tell-parts.ts';

/** A part that was stopped by somebody is noticed this soon: its rows then have to be added again. */
const ASK_PARTS_EVERY = '10m';

export async function payoutBatch(request: BatchRequest, carried?: BatchRecord): Promise<BatchResult> {
  const run = new BatchRun(request, carried);
  installBatchHandlers(run);
  CancellationScope.current().cancelRequested.catch(() => run.cancel());
  return CancellationScope.nonCancellable(async () => {
    await run.prepare(() => prepare(request));
    while (!run.isDone) {
      await untilDone(run);
      // Whoever asked for something just now still gets an answer, and rows that came in just now their part.
      await condition(allHandlersFinished);
    }
    return run.result();
  });
}

async function untilDone(run: BatchRun): Promise<void> {
  while (!run.isDone) {
    const changes = run.changes;
    await tellParts(run);
    await run.continueAsNewWhenLong();
    const heard = await condition(() => run.changes > changes || run.shouldContinue, ASK_PARTS_EVERY, {
      summary: 'asks the parts how they are',
    });
    if (!heard) run.doubtParts();
  }
  run.show();
}

/** Decides bad input: the only way for this workflow to fail. */
function prepare(request: unknown) {
  const { workflowId, memo } = workflowInfo();
  return batchChecks.prepareBatch(request, { workflowId, environment: memo?.['environment'] });
}
