/** What earlier runs of a user's renewal left behind. No API call. */
import { activityInfo } from '@temporalio/activity';
import type { Grant } from '../../domain/token-record.ts';
import type { RecallActivities } from '../shared/types.ts';

export interface WorkflowRun {
  workflowId: string;
  runId: string;
}

export interface RunsOfRenewal {
  newestElsewhere(own: WorkflowRun): Promise<Grant | undefined>;
}

export function recallActivities(runs: RunsOfRenewal): RecallActivities {
  return { recallGrant: async () => (await runs.newestElsewhere(ownRun())) ?? null };
}

/** The run that scheduled the activity. */
export function ownRun(): WorkflowRun {
  const { workflowExecution } = activityInfo();
  if (!workflowExecution) throw new Error('not an activity of a workflow');
  return workflowExecution;
}
