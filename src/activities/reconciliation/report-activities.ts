/** The activities of the daily report: a day's ended payouts, the open payouts, and what follow-ups found. */
import type { Client } from '@temporalio/client';
import type { WorkerConfig } from '../../config/config.ts';
import { OUTCOMES } from '../../contract/codes.ts';
import { storedResultSchema } from '../../contract/payout.ts';
import type { AppReport } from '../../contract/reconciliation.ts';
import { ageGroup, dayBounds, emptyAppReport, movedMoney } from '../../domain/reconciliation.ts';
import type { Clock } from '../../runtime/runtime.ts';
import { isRetryableTemporalError, unlessGone } from '../../temporal/client-errors.ts';
import { type ListedRun, withPacedLists } from '../../temporal/visibility.ts';
import { onlyHere } from '../shared/execution.ts';
import type { ReportActivities } from './reconciliation-types.ts';
import { reportChanged } from './report-changed.ts';
import { reportPages, rowsOf } from './report-pages.ts';

const OPEN = "WorkflowType = 'payout' AND ExecutionStatus = 'Running'";

export function reportActivities({ env }: WorkerConfig, unpaced: Client, clock: Clock): ReportActivities {
  const here = onlyHere(env.PAYMENTS_ENVIRONMENT, clock);
  const client = withPacedLists(unpaced, clock);
  return {
    reportEnded: (page) =>
      here(page, () =>
        reportPages(client, endedOn(page.day), page, (runs) =>
          rowsOf(runs, (run, app) => endedRow(client, run, app)),
        ),
      ),
    reportOpen: (page) =>
      here(page, () =>
        reportPages(client, OPEN, page, (runs) =>
          rowsOf(runs, (run, app) => openRow(client, run, app, page.nowMs)),
        ),
      ),
    reportChanged: (page) => here(page, () => reportChanged(client, page)),
  };
}

function endedOn(day: string): string {
  const { from = '', until = '' } = dayBounds(day) ?? {};
  return `WorkflowType = 'payout' AND ExecutionStatus = 'Completed' AND CloseTime BETWEEN '${from}' AND '${until}'`;
}

/** Counts only the last run of a payout that was reset or restarted, because its money moved once. */
async function endedRow(client: Client, run: ListedRun, app: string): Promise<AppReport[]> {
  const report = emptyAppReport(app);
  if (run.attribute('PayoutNeedsAttention') === true) report.endedFlagged = 1;
  try {
    const last = await client.workflow.getHandle(run.workflowId).describe();
    if (last.runId !== run.runId) return [];
    const ended: unknown = await client.workflow.getHandle(run.workflowId, run.runId).result();
    const result = storedResultSchema.parse(ended);
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

async function openRow(client: Client, run: ListedRun, app: string, nowMs: number): Promise<AppReport[]> {
  const report = emptyAppReport(app);
  report.open[ageGroup(nowMs - (await payoutStartMs(client, run)))] = 1;
  if (run.attribute('PayoutNeedsAttention') === true) report.open.needingAttention = 1;
  return [report];
}

/** The start of the first run, because an open payout continues as new every few hours. */
async function payoutStartMs(client: Client, { workflowId, runId, startedMs }: ListedRun): Promise<number> {
  const firstMs = await unlessGone(async () => {
    const { raw } = await client.workflow.getHandle(workflowId, runId).describe();
    const firstRunId = raw.workflowExecutionInfo?.firstRunId || runId;
    if (firstRunId === runId) return startedMs;
    const { startTime } = await client.workflow.getHandle(workflowId, firstRunId).describe();
    return startTime.getTime();
  });
  // Retention may have deleted it.
  return firstMs ?? startedMs;
}
