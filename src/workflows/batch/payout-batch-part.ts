/**
 * Pays at most 500 rows of a batch. The part waits for its turn; then it starts or joins the payout of each row, as the
 * window permits, and watches it to its end. Rows are independent: the others go on, however one ends.
 */
import { CancellationScope, condition } from '@temporalio/workflow';
import { stopStartingSignal, turnSignal } from '../../contract/batch-messages.ts';
import type { PartRecord, PartRequest } from '../../domain/batch-record.ts';
import { onSignal } from '../shared/raw-signal.ts';
import { fillWindow, reportWhenDue, waitForNews } from './part-rounds.ts';
import { PartRun } from './part-run.ts';

/** A part whose batch was stopped before the part's turn must not wait forever. */
const BATCH_CHECK_INTERVAL = '6h';

export async function payoutBatchPart(request: PartRequest, carried?: PartRecord): Promise<void> {
  const part = new PartRun(request, carried);
  installPartHandlers(part);
  CancellationScope.current().cancelRequested.catch(() => part.stopStarting());
  await CancellationScope.nonCancellable(async () => {
    await untilTurn(part);
    while (!part.isDone) {
      await fillWindow(part);
      await reportWhenDue(part);
      if (part.isDone || part.batchIsGone) break;
      await part.continueAsNewWhenLong();
      await waitForNews(part);
    }
    await reportWhenDue(part);
  });
}

function installPartHandlers(part: PartRun): void {
  onSignal(turnSignal, () => {
    part.record.hasTurn = true;
    part.batchIsGone = false;
    part.mustReport = true;
  });
  onSignal(stopStartingSignal, () => part.stopStarting());
}

/** Also returns if the batch is gone: the report then finds no one. */
async function untilTurn(part: PartRun): Promise<void> {
  while (!part.batchIsGone && !part.isDone) {
    const isOver = await condition(() => part.record.hasTurn || part.isDone, BATCH_CHECK_INTERVAL, {
      summary: 'checks that the batch still exists',
    });
    if (isOver) return;
    await part.report();
  }
}
