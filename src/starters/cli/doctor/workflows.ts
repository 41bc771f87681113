/** Whether workflows are stuck, and whether the reconciliation runs. */
import { ScheduleNotFoundError } from '@temporalio/client';
import { reconciliationId } from '../../../contract/ids.ts';
import { describeFailingWorkflow } from '../../../domain/reconciliation.ts';
import { findFailingWorkflows, knownFailingWorkflows } from '../../../temporal/failing-workflows.ts';
import type { Session } from '../session.ts';
import { type Check, checkOrUnknown, ok, problem } from './check.ts';

const MAX_NAMED = 5;

/** Checks the workflows that were reported as stuck, and the newest open workflows. */
export async function checkWorkflowTasks(
  { client, withDeadline }: Session,
  environment: string,
): Promise<Check> {
  const check = 'workflow tasks';
  return checkOrUnknown(check, 'payouts list --attention', async () => {
    const known = (await withDeadline(() => knownFailingWorkflows(client, environment))) ?? [];
    const ids = known.map(({ workflowId }) => workflowId);
    const { failing } = await withDeadline(() => findFailingWorkflows(client, ids));
    if (failing.length === 0) return ok(check, 'no workflow is stuck');
    const named = failing
      .slice(0, MAX_NAMED)
      .map((one) => `${one.workflowId}: ${describeFailingWorkflow(one)}`);
    const more = failing.length > MAX_NAMED ? `; and ${failing.length - MAX_NAMED} more` : '';
    return problem(check, named.join('; ') + more, 'see docs/operations.md, Stuck workflows');
  });
}

export async function checkReconciliation(
  { client, withDeadline }: Session,
  environment: string,
): Promise<Check> {
  const check = 'reconciliation';
  const id = reconciliationId(environment);
  return checkOrUnknown(check, `temporal schedule describe --schedule-id ${id}`, async () => {
    try {
      const { state, info } = await withDeadline(() => client.schedule.getHandle(id).describe());
      if (state.paused)
        return problem(
          check,
          `the schedule is paused, so stopped payouts are not started again${state.note ? ` (${state.note})` : ''}`,
          `temporal schedule toggle --unpause --schedule-id ${id}`,
        );
      const next = info.nextActionTimes[0];
      return ok(check, next ? `next run at ${next.toISOString()}` : 'is scheduled');
    } catch (error) {
      if (!(error instanceof ScheduleNotFoundError)) throw error;
      const advice = "workers create it when they start: read a worker's log";
      return problem(check, 'the schedule does not exist', advice);
    }
  });
}
