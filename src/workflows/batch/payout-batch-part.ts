/**
 * Pays at most 500 rows of a batch. The part waits for its turn. Then it starts or joins the payout of each row, as the
 * window permits, and watches it to its end. Rows are independent: the outcome of one does not affect the others.
 */

import { CancellationScope, condition, isCancellation, proxyActivities } from '@temporalio/workflow';
import type { batchActivities, RowStart } from '../../activities/batch/batch-activities.ts';
import type { RowChange } from '../../activities/batch/watch-payouts.ts';
import type { PayoutRequest } from '../../contract/payout-request.ts';
import { stopStartingSignal, turnSignal } from '../../contract/workflows.ts';
import type { PartRecord, PartRequest } from '../../domain/batch.ts';
import { UNTIL_TEMPORAL_ANSWERS } from '../shared/calls.ts';
import { onSignal, runShielded } from '../shared/messages.ts';
import { continueAsNewWhenLong, isHistoryLong } from '../shared/run-facts.ts';
import { PartRun } from './part-run.ts';

/** A part whose batch was stopped before the part's turn must not wait forever. */
const BATCH_CHECK_INTERVAL = '6h';
/** Minimum time between two reports of progress. Changes that the batch acts on are reported at once. */
const REPORT_INTERVAL_MS = 2_000;

export async function payoutBatchPart(request: PartRequest, carried?: PartRecord): Promise<void> {
  const part = new PartRun(request, carried);
  installPartHandlers(part);
  await runShielded(
    () => part.stopStarting(),
    async () => {
      await untilTurn(part);
      while (!part.isDone) {
        await fillWindow(part);
        await endRefused(part);
        await reportWhenDue(part);
        if (part.isDone || part.batchIsGone) break;
        await continueAsNewWhenLong<typeof payoutBatchPart>(() => [part.remainingRequest, part.record]);
        await waitForNews(part);
      }
      await reportWhenDue(part);
    },
  );
}

function installPartHandlers(part: PartRun): void {
  onSignal(turnSignal, () => {
    part.record.hasTurn = true;
    part.batchIsGone = false;
    part.mustReport = true;
  });
  onSignal(stopStartingSignal, () => part.stopStarting());
}

/** Also returns if the batch is gone: then the signal of the report fails. */
async function untilTurn(part: PartRun): Promise<void> {
  while (!part.batchIsGone && !part.isDone) {
    const isOver = await condition(() => part.record.hasTurn || part.isDone, BATCH_CHECK_INTERVAL, {
      summary: 'checks that the batch still exists',
    });
    if (isOver) return;
    await part.report();
  }
}

/** Starts or joins payouts until the window is full. */
async function fillWindow(part: PartRun): Promise<void> {
  for (let rows = part.takeRows(); rows.length > 0; rows = part.takeRows()) {
    part.started(await startRows(part, rows));
    await reportWhenDue(part);
  }
}

/** If the part is stopped meanwhile, finds out which rows were started: attempts without an answer may have done so. */
async function startRows(part: PartRun, payouts: readonly PayoutRequest[]): Promise<RowStart[]> {
  const { environment, app, batchId, startedBy } = part.request;
  const rows = { environment, app, batchId, startedBy, payouts };
  const starting = new CancellationScope();
  part.cancelStarts = () => starting.cancel();
  try {
    const calls = batchCalls(`starts or joins ${payouts.length} payouts`);
    return await starting.run(() => calls.startPayouts(rows));
  } catch (error) {
    if (!part.record.canceled) throw error;
    return await batchCalls(`finds out which of ${payouts.length} payouts were started`).findPayouts(rows);
  } finally {
    part.cancelStarts = () => undefined;
  }
}

/** A refused quote may never end. A payout that has sent a create refuses the cancellation. */
async function endRefused(part: PartRun): Promise<void> {
  const partnerOrderIds = part.takeRefused();
  const { environment, app, batchId } = part.request;
  if (partnerOrderIds.length === 0) return;
  const calls = batchCalls(`cancels ${partnerOrderIds.length} payouts whose quote is refused`);
  await calls.cancelPayouts({ environment, app, batchId, partnerOrderIds });
}

async function reportWhenDue(part: PartRun): Promise<void> {
  const { unreported, reportedAtMs } = part.record;
  const isDue = unreported && Date.now() - reportedAtMs >= REPORT_INTERVAL_MS;
  if (part.mustReport || part.hasNewStage || isDue) await part.report();
}

/** Waits until the open payouts bring changes. Meanwhile, the part keeps reporting to its batch. */
async function waitForNews(part: PartRun): Promise<void> {
  let outcome: { changes: RowChange[] } | { error: unknown } | undefined;
  const watch = new CancellationScope();
  const { app } = part.request;
  const { open } = part.record;
  watch
    .run(() => batchCalls('watches the payouts').watchPayouts({ app, open, minChanges: part.minChanges }))
    .then(
      (changes) => {
        outcome = { changes };
      },
      (error: unknown) => {
        outcome = { error };
      },
    );
  while (!outcome && !part.batchIsGone && !part.mustEndRefused) {
    await untilReportIsDue(part, () => outcome !== undefined || part.mustReport);
    // Each check of the batch adds to the history, for as long as a payout is open. The length is read only where a command
    // follows: elsewhere, a replay sees another one.
    if (part.mustReport && isHistoryLong()) break;
    await reportWhenDue(part);
  }
  const isObsolete = outcome === undefined;
  watch.cancel();
  await condition(() => outcome !== undefined);
  if (outcome && 'changes' in outcome) part.acceptChanges(outcome.changes);
  else if (!isObsolete && !isCancellation(outcome?.error)) throw outcome?.error;
}

async function untilReportIsDue(part: PartRun, wake: () => boolean): Promise<void> {
  const { unreported, reportedAtMs } = part.record;
  if (!unreported) return condition(wake);
  const waitMs = Math.max(1, reportedAtMs + REPORT_INTERVAL_MS - Date.now());
  await condition(wake, waitMs, { summary: 'reports to the batch' });
}

/** Idempotent activities that call only Temporal: no rate limit, no priorities. The Temporal UI shows `summary`. */
function batchCalls(summary: string) {
  return proxyActivities<ReturnType<typeof batchActivities>>({
    startToCloseTimeout: '2m',
    // Detects a killed worker.
    heartbeatTimeout: '8s',
    summary,
    // A worker that starts rows ends its last start first.
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    retry: { ...UNTIL_TEMPORAL_ANSWERS, maximumInterval: '30s' },
  });
}
