/** Creates a daily report on demand. */
import type { Client } from '@temporalio/client';
import { PAYOUTS_TASK_QUEUE, reportId } from '../contract/ids.ts';
import type { WorkflowSignatures } from '../contract/workflows.ts';
import type { DailyReport } from '../domain/daily-report.ts';

/** A report moves no money, so it may time out. A hundred thousand payouts take some minutes. */
const GIVE_UP_AFTER = '15 minutes';

/**
 * `day`: `YYYY-MM-DD`, UTC. Throws Temporal's `WorkflowFailedError` if no worker completes the report within 15
 * minutes.
 */
export async function dailyReport(client: Client, environment: string, day: string): Promise<DailyReport> {
  return client.workflow.execute<WorkflowSignatures['payoutReport']>('payoutReport', {
    taskQueue: PAYOUTS_TASK_QUEUE,
    workflowId: `${reportId(environment)}:${day}`,
    // Concurrent requests share one report.
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowExecutionTimeout: GIVE_UP_AFTER,
    args: [{ environment, day }],
    staticSummary: `the payouts of ${day}`,
  });
}
