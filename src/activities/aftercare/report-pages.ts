/** Reads the runs for the daily report. */
import type { Client } from '@temporalio/client';
import { payoutOf } from '../../contract/ids.ts';
import { type AppReport, mergeReportParts } from '../../domain/daily-report.ts';
import { inParallel } from '../../surroundings/in-parallel.ts';
import { type ListedRun, listRunPage } from '../../temporal/visibility.ts';
import type { ReportedPage, ReportPage } from './aftercare-types.ts';

export const PAGE_SIZE = 500;

/** Reports one page of payouts. `rowOf` returns what one of them adds. */
export async function reportPage(
  client: Client,
  query: string,
  { environment, after }: ReportPage,
  rowOf: (run: ListedRun, app: string) => Promise<AppReport[]>,
): Promise<ReportedPage> {
  const token = after === undefined ? undefined : Buffer.from(after, 'base64');
  const { runs, next } = await listRunPage(client, query, PAGE_SIZE, token);
  const rows = await inParallel(runs, async (run) => {
    const { app } = payoutOf(run.workflowId) ?? {};
    return app !== undefined && (await isMeantFor(run, environment)) ? rowOf(run, app) : [];
  });
  const part = mergeReportParts([{ apps: rows.flat(), changes: [] }]);
  return { ...part, ...(next && { next: Buffer.from(next).toString('base64') }) };
}

/** True if the memo names no other environment, or this process cannot read it. */
export async function isMeantFor(run: ListedRun, environment: string): Promise<boolean> {
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
