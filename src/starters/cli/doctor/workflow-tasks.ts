/** Whether every open workflow can go on. */
import { describeFailingWorkflow } from '../../../domain/reconciliation.ts';
import { findFailingWorkflows, knownFailingWorkflows } from '../../../temporal/failing-workflows.ts';
import type { Session } from '../session.ts';
import { type Check, messageOf, problem, unknown, well } from './check.ts';

const MOST_NAMED = 5;

/** The newest open workflows are looked at here and now, beside those that are known. */
export async function workflowTasksGoOn({ client, soon }: Session, environment: string): Promise<Check> {
  const check = 'workflow tasks';
  try {
    const known = (await soon(() => knownFailingWorkflows(client, environment))) ?? [];
    const ids = known.map(({ workflowId }) => workflowId);
    const { failing } = await soon(() => findFailingWorkflows(client, ids));
    if (failing.length === 0) return well(check, 'none keeps failing');
    const named = failing
      .slice(0, MOST_NAMED)
      .map((one) => `${one.workflowId}: ${describeFailingWorkflow(one)}`);
    const more = failing.length > MOST_NAMED ? `; and ${failing.length - MOST_NAMED} more` : '';
    return problem(check, named.join('; ') + more, 'docs/operations.md, A workflow that stands still');
  } catch (error) {
    return unknown(check, messageOf(error), 'payouts list --attention');
  }
}
