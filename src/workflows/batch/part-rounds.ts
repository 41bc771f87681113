/** What a part does round after round: start some rows, report, look what has become of them. */
import { CancellationScope, condition, isCancellation } from '@temporalio/workflow';
import type { RowNews } from '../../activities/batch/batch-types.ts';
import { batchCalls } from './batch-calls.ts';
import type { PartRun } from './part-run.ts';

/** Progress is told this often at most; what the batch acts on is told at once. */
const REPORT_EVERY_MS = 2_000;

/** Fills the window. */
export async function startSome(part: PartRun): Promise<void> {
  const { environment, app, batchId, startedBy } = part.request;
  for (let rows = part.takeRows(); rows.length > 0; rows = part.takeRows()) {
    const calls = batchCalls(`starts ${rows.length} payouts, or joins them`);
    part.started(await calls.startPayouts({ environment, app, batchId, startedBy, payouts: rows }));
    await reportWhenDue(part);
  }
}

export async function reportWhenDue(part: PartRun): Promise<void> {
  const { unreported, reportedAtMs } = part.record;
  const due = unreported && Date.now() - reportedAtMs >= REPORT_EVERY_MS;
  if (part.mustReport || part.hasTurnedACorner || due) await part.report();
}

/** Waits for news, however long that takes; the batch gets its answers meanwhile. */
export async function lookForNews(part: PartRun): Promise<void> {
  let outcome: { news: RowNews[] } | { error: unknown } | undefined;
  const look = new CancellationScope();
  const { app } = part.request;
  const { open } = part.record;
  look
    .run(() => batchCalls('what has become of them?').lookAtPayouts({ app, open, enough: part.enoughNews }))
    .then(
      (news) => {
        outcome = { news };
      },
      (error: unknown) => {
        outcome = { error };
      },
    );
  while (!outcome && !part.batchIsGone) {
    await untilSomethingIsDue(part, () => outcome !== undefined || part.mustReport);
    await reportWhenDue(part);
  }
  if (!outcome) return look.cancel();
  if ('news' in outcome) part.heard(outcome.news);
  else if (!isCancellation(outcome.error)) throw outcome.error;
}

async function untilSomethingIsDue(part: PartRun, wake: () => boolean): Promise<void> {
  const { unreported, reportedAtMs } = part.record;
  if (!unreported) return condition(wake);
  const left = Math.max(1, reportedAtMs + REPORT_EVERY_MS - Date.now());
  await condition(wake, left, { summary: 'tells the batch' });
}
