/** A day's ended payouts, from their own results. */
import type { Client } from '@temporalio/client';
import { payoutOf } from '../../contract/ids.ts';
import { payoutResultSchema } from '../../contract/payout-answers.ts';
import { type AppReport, dayBounds, emptyAppReport, movedMoney } from '../../domain/daily-report.ts';
import { OUTCOMES } from '../../domain/payout.ts';
import { isRetryableTemporalError } from '../../temporal/client-errors.ts';
import type { ListedRun } from '../../temporal/visibility.ts';
import { reportPage } from './report-pages.ts';
import type { ReportedPage, ReportPage } from './report-types.ts';

export async function reportEnded(client: Client, page: ReportPage): Promise<ReportedPage> {
  const { from = '', until = '' } = dayBounds(page.day) ?? {};
  const query = `WorkflowType = 'payout' AND ExecutionStatus = 'Completed' AND CloseTime BETWEEN '${from}' AND '${until}'`;
  return reportPage(client, query, page, (run) => rowOf(client, run));
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
    const ended: unknown = await client.workflow.getHandle(run.workflowId, run.runId).result();
    const result = payoutResultSchema.parse(ended);
    Object.assign(report, movedMoney(result));
    report.outcomes[result.outcome] = 1;
  } catch (error) {
    if (isRetryableTemporalError(error)) throw error;
    report.unreadable = 1;
    const outcome = OUTCOMES.find((known) => known === run.attribute('PayoutOutcome'));
    if (outcome) report.outcomes[outcome] = 1;
  }
  return [report];
}
