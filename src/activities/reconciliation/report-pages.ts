/** Reads the runs for the daily report. */
import type { Client } from '@temporalio/client';
import { payoutOf } from '../../contract/ids.ts';
import type { AppReport, ReportPart } from '../../contract/reconciliation.ts';
import { emptyReportPart, mergeReportParts } from '../../domain/reconciliation.ts';
import { inParallel } from '../../runtime/in-parallel.ts';
import { type ListedRun, listRunPage } from '../../temporal/visibility.ts';
import type { ReportedPage, ReportPage } from './reconciliation-types.ts';

/** Temporal lists no more at once. */
const PAGE_SIZE = 1_000;
/** The pages of one call. Each call adds events and a sum of all applications to the history of the report. */
const MAX_PAGES = 10;

/** Reports some pages of a list. `partOf` returns what the runs of one page add. */
export async function reportPages(
  client: Client,
  query: string,
  { environment, after }: ReportPage,
  partOf: (runs: ListedRun[]) => Promise<ReportPart>,
): Promise<ReportedPage> {
  let token = after === undefined ? undefined : Buffer.from(after, 'base64');
  let sum = emptyReportPart();
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const { runs, next } = await listRunPage(client, query, PAGE_SIZE, token);
    const meant = await inParallel(runs, (run) => isMeantFor(run, environment));
    sum = mergeReportParts([sum, await partOf(runs.filter((_run, at) => meant[at]))]);
    if (!next) return sum;
    token = Buffer.from(next);
  }
  return { ...sum, ...(token && { next: token.toString('base64') }) };
}

/** `rowOf` returns what one payout adds. */
export async function rowsOf(
  runs: readonly ListedRun[],
  rowOf: (run: ListedRun, app: string) => Promise<AppReport[]>,
): Promise<ReportPart> {
  const rows = await inParallel(runs, async (run) => {
    const { app } = payoutOf(run.workflowId) ?? {};
    return app === undefined ? [] : rowOf(run, app);
  });
  return { ...emptyReportPart(), apps: rows.flat() };
}

/** True if the memo names no other environment, or this process cannot read it. */
async function isMeantFor(run: ListedRun, environment: string): Promise<boolean> {
  const { environment: meant } = await memoOf(run);
  return typeof meant !== 'string' || meant === environment;
}

export async function memoOf(run: ListedRun): Promise<Record<string, unknown>> {
  try {
    return await run.memo();
  } catch {
    return {};
  }
}
