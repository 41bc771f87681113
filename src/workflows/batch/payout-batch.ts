/**
 * Many payouts at once. The caller adds the rows in slices with `add`. The batch checks each slice and starts a part for
 * it; no row is paid before all rows have been added. Then the parts take turns, so that only a window of payouts uses
 * the rate limit.
 *
 * The payouts are not child workflows: they continue if the batch or a part is stopped, and a batch that is started again
 * joins them.
 */
import { allHandlersFinished, condition, log } from '@temporalio/workflow';
import type { BatchRequest, BatchResult } from '../../contract/batch.ts';
import type { BatchRecord } from '../../domain/batch.ts';
import { publishBatch } from '../../domain/events.ts';
import { logEvent } from '../../domain/telemetry.ts';
import { checks, orBadInput } from '../shared/calls.ts';
import { runShielded } from '../shared/messages.ts';
import { startFacts } from '../shared/run-facts.ts';
import { BatchRun } from './batch-run.ts';
import { installBatchHandlers } from './handlers.ts';
import { signalParts } from './signal-parts.ts';

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
