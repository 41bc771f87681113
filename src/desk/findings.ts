/** Workflows that cannot continue: stuck ones, and those that the last reconciliation did not start again. */
import type { Client } from '@temporalio/client';
import { z } from 'zod';
import type { AttentionOf, WorkflowAttentionCode } from '../contract/attention-codes.ts';
import { reconciliationId } from '../contract/ids.ts';
import { describeFailingWorkflow, WORKFLOW_TASK_FAILS } from '../domain/reconciliation.ts';
import { knownFailingWorkflows } from '../temporal/failing-workflows.ts';
import { listRunPage } from '../temporal/visibility.ts';

export interface Finding {
  workflowId: string;
  reason: AttentionOf<WorkflowAttentionCode>;
}

const report = z.object({ notReconciled: z.array(z.object({ workflowId: z.string(), reason: z.string() })) });

export async function findingsOf(client: Client, environment: string): Promise<Finding[]> {
  const [failing, notReconciled] = await Promise.all([
    knownFailingWorkflows(client, environment),
    lastNotReconciled(client, environment),
  ]);
  return [
    ...(failing ?? []).map((one): Finding => {
      const message = `${describeFailingWorkflow(one)}.`;
      return { workflowId: one.workflowId, reason: { code: WORKFLOW_TASK_FAILS, message } };
    }),
    ...notReconciled,
  ];
}

async function lastNotReconciled(client: Client, environment: string): Promise<Finding[]> {
  const ended = "WorkflowType = 'payoutReconciliation' AND ExecutionStatus = 'Completed'";
  const query = `${ended} AND WorkflowId STARTS_WITH '${reconciliationId(environment)}'`;
  // The list starts with the run that closed last.
  const { runs } = await listRunPage(client, query, 1);
  const [last] = runs;
  if (!last) return [];
  const { notReconciled } = report.parse(
    await client.workflow.getHandle(last.workflowId, last.runId).result(),
  );
  return notReconciled.map(({ workflowId, reason }) => ({
    workflowId,
    reason: { code: 'NOT_RECONCILED', message: reason },
  }));
}
