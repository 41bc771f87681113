/** The report of a reconciliation, and the delay before a stopped payout is started again. */

import type { WorkflowAttentionCode } from './attention-codes.ts';
import { HOUR_MS, isoTime } from './time.ts';

/** A closed workflow that the next reconciliation looks at again. */
export interface Unresolved {
  workflowId: string;
  /** Why a person should look at it: it is not started again, or a new start would not help. Absent if it only waits. */
  reason?: string;
}

export type NotReconciled = Required<Unresolved>;

export interface ReconciliationReport {
  /** Stopped payouts that were started again. */
  restarted: number;
  /** Stopped payouts whose restart is delayed because they keep being stopped. */
  waiting: number;
  /** Follow-ups started. */
  followUpsStarted: number;
  /** At most the first hundred. */
  notReconciled: NotReconciled[];
  /** Open workflows whose workflow task keeps failing: at most the first hundred. */
  failing: FailingWorkflow[];
  /**
   * The next search covers workflows that started before this time. Unix milliseconds; undefined: from the newest on.
   */
  failingBeforeMs?: number | undefined;
  /** Every workflow that closed before this time, and that lists showed then, has been processed. Unix milliseconds. */
  seenUntilMs: number;
  /** The ids of processed workflows that wait or were not reconciled. At most `MAX_UNRESOLVED`. */
  unresolved: string[];
  /** The sweep has processed every workflow that closed before this time. Unix milliseconds; 0: it begins. */
  sweptUntilMs: number;
}

/** A bound for the size of the report. The sweep finds the others again. */
export const MAX_UNRESOLVED = 1_000;

/** After this many stops in a row, a restart is delayed. */
const STOPS_WITHOUT_DELAY = 3;
const MAX_RESTART_DELAY_MS = 6 * HOUR_MS;

/** The delay before the restart after the `stops`-th stop: none at first, then exponential up to six hours. */
export function restartDelayMs(stops: number, everyMs: number): number {
  if (stops <= STOPS_WITHOUT_DELAY) return 0;
  return Math.min(MAX_RESTART_DELAY_MS, everyMs * 2 ** Math.min(stops - STOPS_WITHOUT_DELAY, 30));
}

/** The attention code in `list --attention` and in the reconciliation. */
export const WORKFLOW_TASK_FAILS = 'WORKFLOW_TASK_FAILS' satisfies WorkflowAttentionCode;

/** From this attempt on, Temporal rejects queries of the workflow. The crash of a worker costs one attempt. */
export const FAILING_FROM_ATTEMPT = 3;

/** An open workflow that is stuck: its workflow task keeps failing or timing out. */
export interface FailingWorkflow {
  workflowId: string;
  runId: string;
  type: string;
  /** The current attempt of its workflow task. */
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
