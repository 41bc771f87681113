/** One round of a part: start rows, report, wait for news of their payouts. */
import { CancellationScope, condition, isCancellation } from '@temporalio/workflow';
import type { RowNews } from '../../activities/batch/batch-types.ts';
import { batchCalls } from './batch-calls.ts';
import type { PartRun } from './part-run.ts';

/** Minimum time between two reports of progress. Changes that the batch acts on are reported at once. */
const REPORT_INTERVAL_MS = 2_000;

/** Starts or joins payouts until the window is full. */
export async function fillWindow(part: PartRun): Promise<void> {
  const { environment, app, batchId, startedBy } = part.request;
  for (let rows = part.takeRows(); rows.length > 0; rows = part.takeRows()) {
    const calls = batchCalls(`starts or joins ${rows.length} payouts`);
    part.started(await calls.startPayouts({ environment, app, batchId, startedBy, payouts: rows }));
    await reportWhenDue(part);
  }
}

export async function reportWhenDue(part: PartRun): Promise<void> {
  const { unreported, reportedAtMs } = part.record;
  const isDue = unreported && Date.now() - reportedAtMs >= REPORT_INTERVAL_MS;
  if (part.mustReport || part.hasNewStage || isDue) await part.report();
}

/** Waits until the open payouts bring news. Meanwhile, the part keeps reporting to its batch. */
export async function waitForNews(part: PartRun): Promise<void> {
  let outcome: { news: RowNews[] } | { error: unknown } | undefined;
  const watch = new CancellationScope();
  const { app } = part.request;
  const { open } = part.record;
  watch
    .run(() => batchCalls('watches the payouts').lookAtPayouts({ app, open, enough: part.enoughNews }))
    .then(
      (news) => {
        outcome = { news };
      },
      (error: unknown) => {
        outcome = { error };
      },
    );
  while (!outcome && !part.batchIsGone) {
    await untilReportIsDue(part, () => outcome !== undefined || part.mustReport);
    await reportWhenDue(part);
  }
  if (!outcome) return watch.cancel();
  if ('news' in outcome) part.heard(outcome.news);
  else if (!isCancellation(outcome.error)) throw outcome.error;
}

async function untilReportIsDue(part: PartRun, wake: () => boolean): Promise<void> {
  const { unreported, reportedAtMs } = part.record;
  if (!unreported) return condition(wake);
  const waitMs = Math.max(1, reportedAtMs + REPORT_INTERVAL_MS - Date.now());
  await condition(wake, waitMs, { summary: 'reports to the batch' });
}
