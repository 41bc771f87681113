/** An open workflow that is stuck: its workflow task keeps failing or timing out. */

import type { WorkflowAttentionCode } from './attention-codes.ts';
import { isoTime } from './time.ts';

/** The attention code in `list --attention` and in the reconciliation. */
export const WORKFLOW_TASK_FAILS = 'WORKFLOW_TASK_FAILS' satisfies WorkflowAttentionCode;

/** From this attempt on, Temporal rejects queries of the workflow. The crash of a worker costs one attempt. */
export const FAILING_FROM_ATTEMPT = 3;

export interface FailingWorkflow {
  workflowId: string;
  runId: string;
  /** The workflow's type. */
  type: string;
  /** Attempts of its workflow task so far. */
  attempt: number;
  /** When this task was first scheduled. Unix milliseconds. */
  sinceMs: number;
  /** Temporal's name for the cause, such as `NON_DETERMINISTIC_ERROR`; `UNKNOWN` if the history does not contain it. */
  cause: string;
}

/** A message for operators. It contains no payload data. */
export function describeFailingWorkflow({ attempt, sinceMs, cause }: FailingWorkflow): string {
  return `its workflow task has failed ${attempt - 1} times since ${isoTime(sinceMs)} (${cause}): the workflow is stuck`;
}
