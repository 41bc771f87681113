/** The report of one day, made now. */

import type { Client } from '@temporalio/client';
import { PAYOUTS_TASK_QUEUE, reportId } from '../contract/ids.ts';
import type { WorkflowSignatures } from '../contract/workflows.ts';
import type { DailyReport } from '../domain/daily-report.ts';

/** No money moves here, so it may be given up; a hundred thousand payouts take some minutes. */
const GIVE_UP_AFTER = '15 minutes';

/** Throws Temporal's `WorkflowFailedError` where no worker makes it in time. */
export async function dailyReport(client: Client, environment: string, day: string): Promise<DailyReport> {
  return client.workflow.execute<WorkflowSignatures['payoutReport']>('payoutReport', {
    taskQueue: PAYOUTS_TASK_QUEUE,
    workflowId: `${reportId(environment)}:${day}`,
    // Whoever asks at the same time gets the same one.
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowExecutionTimeout: GIVE_UP_AFTER,
    args: [{ environment, day }],
    staticSummary: `the payouts of ${day}`,
  });
}
