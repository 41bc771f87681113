/** An open workflow that cannot go on: its workflow task fails, or is never answered, again and again. */

import type { WorkflowAttentionCode } from './attention-codes.ts';

/** What `list --attention` and the reconciliation call it. */
export const WORKFLOW_TASK_FAILS = 'WORKFLOW_TASK_FAILS' satisfies WorkflowAttentionCode;

/** From this attempt on Temporal itself answers no query of the workflow; a worker that dies costs one attempt. */
export const KEEPS_FAILING_FROM_ATTEMPT = 3;

export interface FailingWorkflow {
  workflowId: string;
  runId: string;
  /** The workflow's type. */
  type: string;
  /** Of its workflow task, so far. */
  attempt: number;
  /** When this task was first scheduled. Unix milliseconds. */
  sinceMs: number;
  /** Temporal's own word, such as `NON_DETERMINISTIC_ERROR`; `UNKNOWN` where the history does not tell. */
  cause: string;
}

/** Nothing of a payload is in it. */
export function whyFailing({ attempt, sinceMs, cause }: FailingWorkflow): string {
  const since = new Date(sinceMs).toISOString();
  return `its workflow task has failed since ${since}, ${attempt - 1} times (${cause}): it stands still`;
}
