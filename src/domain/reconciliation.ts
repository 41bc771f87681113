/** What a reconciliation finds, and how long a payout that is stopped again and again waits for its next turn. */

import type { FailingWorkflow } from './failing-workflow.ts';

/** Something that a person should look at: nothing starts it again, or a new start cannot help. */
export interface LeftAlone {
  workflowId: string;
  why: string;
}

export interface ReconciliationReport {
  /** Payouts whose workflow had been stopped, started again. */
  adopted: number;
  /** Stopped again and again: their next turn comes later. */
  waiting: number;
  /** Follow-ups started. */
  followed: number;
  /** At most the first hundred. */
  leftAlone: LeftAlone[];
  /** Open workflows whose workflow task keeps failing: at most the first hundred. */
  failing: FailingWorkflow[];
  /** Where the next look for them begins. Unix milliseconds; undefined: with the newest workflows. */
  failingBeforeMs?: number | undefined;
  /** Whatever closed before this has been seen. Unix milliseconds; 0: nothing has. */
  seenUntilMs: number;
}

/** Stops in a row after which they are no longer taken for a mistake. */
const STOPS_WITHOUT_PAUSE = 3;
export const MAX_RESTART_DELAY_MS = 6 * 3_600_000;

/** How long after its `stops`-th stop a payout rests: not at all at first, then ever longer. */
export function restartDelayMs(stops: number, everyMs: number): number {
  if (stops <= STOPS_WITHOUT_PAUSE) return 0;
  return Math.min(MAX_RESTART_DELAY_MS, everyMs * 2 ** Math.min(stops - STOPS_WITHOUT_PAUSE, 30));
}
