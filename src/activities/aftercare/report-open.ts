/** Payouts that are open now, by age. */
import type { Client } from '@temporalio/client';
import { payoutOf } from '../../contract/ids.ts';
import { type AppReport, ageGroup, emptyAppReport } from '../../domain/daily-report.ts';
import type { Clock } from '../../surroundings/surroundings.ts';
import { isGone } from '../../temporal/client-errors.ts';
import type { ListedRun } from '../../temporal/visibility.ts';
import { reportPage } from './report-pages.ts';
import type { ReportedPage, ReportPage } from './report-types.ts';

export async function reportOpen(client: Client, page: ReportPage, clock: Clock): Promise<ReportedPage> {
  const query = "WorkflowType = 'payout' AND ExecutionStatus = 'Running'";
  return reportPage(client, query, page, (run) => rowOf(client, run, clock));
}

async function rowOf(client: Client, run: ListedRun, clock: Clock): Promise<AppReport[]> {
  const { app } = payoutOf(run.workflowId) ?? {};
  if (app === undefined) return [];
  const report = emptyAppReport(app);
  report.open[ageGroup(clock.wallMs() - (await beganMs(client, run)))] = 1;
  if (run.attribute('PayoutNeedsAttention') === true) report.open.needingAttention = 1;
  return [report];
}

/** A payout that stays open goes on as new every few hours: it is as old as its first run. */
async function beganMs(client: Client, { workflowId, runId, startedMs }: ListedRun): Promise<number> {
  try {
    const { raw } = await client.workflow.getHandle(workflowId, runId).describe();
    const firstRunId = raw.workflowExecutionInfo?.firstRunId || runId;
    if (firstRunId === runId) return startedMs;
    const { startTime } = await client.workflow.getHandle(workflowId, firstRunId).describe();
    return startTime.getTime();
  } catch (error) {
    // Retention has deleted it.
    if (isGone(error)) return startedMs;
    throw error;
  }
}
