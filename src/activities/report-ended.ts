/** A day's ended payouts, from their own results. */
import type { Client } from '@temporalio/client';
import { type AppReport, addParts, boundsOf, emptyAppReport } from '../domain/daily-report.ts';
import { payoutOf } from '../domain/identity.ts';
import { OUTCOMES } from '../domain/payout.ts';
import { isEngineError } from '../starters/engine-errors.ts';
import { type ListedRun, pageOfRuns } from '../starters/visibility.ts';
import type { payout } from '../workflows/payout.ts';
import { inParallel } from './in-parallel.ts';
import { isMeantFor, pageToken } from './report-pages.ts';
import type { ReportedPage, ReportPage } from './report-types.ts';

const PAGE = 500;
const READ_AT_ONCE = 8;

export async function reportEnded(
  client: Client,
  { environment, day, after }: ReportPage,
): Promise<ReportedPage> {
  const { from = '', until = '' } = boundsOf(day) ?? {};
  const query = `WorkflowType = 'payout' AND ExecutionStatus = 'Completed' AND CloseTime BETWEEN '${from}' AND '${until}'`;
  const { runs, next } = await pageOfRuns(client, query, PAGE, pageToken(after));
  const rows = await inParallel(READ_AT_ONCE, runs, async (run) =>
    (await isMeantFor(run, environment)) ? rowOf(client, run) : [],
  );
  return { ...addParts([{ apps: rows.flat(), changes: [] }]), ...(next && { next: base64(next) }) };
}

/** A payout that was reset or started again counts by its last run only: its money moved once. */
async function rowOf(client: Client, run: ListedRun): Promise<AppReport[]> {
  const { app } = payoutOf(run.workflowId) ?? {};
  if (app === undefined) return [];
  const report = emptyAppReport(app);
  if (run.attribute('PayoutNeedsAttention') === true) report.endedFlagged = 1;
  try {
    const last = await client.workflow.getHandle(run.workflowId).describe();
    if (last.runId !== run.runId) return [];
    const result = await client.workflow.getHandle<typeof payout>(run.workflowId, run.runId).result();
    report.outcomes[result.outcome] = 1;
    report.received = result.received ? [result.received] : [];
    report.failed = result.failed ? [result.failed] : [];
  } catch (error) {
    if (isEngineError(error)) throw error;
    report.unreadable = 1;
    const outcome = OUTCOMES.find((known) => known === run.attribute('PayoutOutcome'));
    if (outcome) report.outcomes[outcome] = 1;
  }
  return [report];
}

function base64(token: Uint8Array): string {
  return Buffer.from(token).toString('base64');
}
