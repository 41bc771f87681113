/** What the parts of the daily report have in common. */
import type { Client } from '@temporalio/client';
import { type AppReport, mergeReportParts } from '../../domain/daily-report.ts';
import { type ListedRun, listRunPage } from '../../temporal/visibility.ts';
import { inParallel } from '../shared/in-parallel.ts';
import type { ReportedPage, ReportPage } from './report-types.ts';

const PAGE = 500;
const READ_AT_ONCE = 8;

/** One page of the runs that a query finds, each as what it adds to the report. */
export async function reportPage(
  client: Client,
  query: string,
  { environment, after }: ReportPage,
  rowOf: (run: ListedRun) => Promise<AppReport[]>,
): Promise<ReportedPage> {
  const token = after === undefined ? undefined : Buffer.from(after, 'base64');
  const { runs, next } = await listRunPage(client, query, PAGE, token);
  const rows = await inParallel(READ_AT_ONCE, runs, async (run) =>
    (await isMeantFor(run, environment)) ? rowOf(run) : [],
  );
  const part = mergeReportParts([{ apps: rows.flat(), changes: [] }]);
  return { ...part, ...(next && { next: Buffer.from(next).toString('base64') }) };
}

/** Where nothing says for which environment a payout was made, or this process cannot read it, it counts here. */
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
