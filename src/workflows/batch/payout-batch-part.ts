/**
 * At most 500 rows of a batch. They wait for their turn; then each is started or joined as the window lets, and
 * watched to its end. Rows are independent: whatever becomes of one, the others go on.
 */
import { CancellationScope, condition } from '@temporalio/workflow';
import type { PartRecord, PartRequest } from '../../domain/batch-record.ts';
import { installPartHandlers } from './part-handlers.ts';
import { lookForNews, reportWhenDue, startSome } from './part-rounds.ts';
import { PartRun } from './part-run.ts';

/** A part whose batch was stopped before it began must not wait for ever. */
const LOOK_FOR_BATCH_EVERY = '6h';

export async function payoutBatchPart(request: PartRequest, carried?: PartRecord): Promise<void> {
  const part = new PartRun(request, carried);
  installPartHandlers(part);
  CancellationScope.current().cancelRequested.catch(() => part.stopStarting());
  await CancellationScope.nonCancellable(async () => {
    await turn(part);
    while (!part.isDone) {
      await startSome(part);
      await reportWhenDue(part);
      if (part.isDone || part.batchIsGone) break;
      await part.continueAsNewWhenLong();
      await lookForNews(part);
    }
    await reportWhenDue(part);
  });
}

async function turn(part: PartRun): Promise<void> {
  while (!part.batchIsGone && !part.isDone) {
    const called = await condition(() => part.record.hasTurn || part.isDone, LOOK_FOR_BATCH_EVERY, {
      summary: 'looks whether the batch is still there',
    });
    if (called) return;
    await part.report();
  }
}
