/** The report of a reconciliation, and the delay before a payout that keeps being stopped is started again. */

import type { FailingWorkflow } from './failing-workflow.ts';
import { HOUR_MS } from './time.ts';

/** A workflow that a person should look at: it is not started again, or a new start would not help. */
export interface LeftAlone {
  workflowId: string;
  why: string;
}

export interface ReconciliationReport {
  /** Stopped payouts that were started again. */
  adopted: number;
  /** Stopped payouts whose restart is delayed because they keep being stopped. */
  waiting: number;
  /** Follow-ups started. */
  followed: number;
  /** At most the first hundred. */
  leftAlone: LeftAlone[];
  /** Open workflows whose workflow task keeps failing: at most the first hundred. */
  failing: FailingWorkflow[];
  /**
   * The next search covers workflows that started before this time. Unix milliseconds; undefined: from the newest on.
   */
  failingBeforeMs?: number | undefined;
  /** Every workflow that closed before this time has been processed. Unix milliseconds; 0: none. */
  seenUntilMs: number;
}

/** After this many stops in a row, a restart is delayed. */
const STOPS_WITHOUT_DELAY = 3;
export const MAX_RESTART_DELAY_MS = 6 * HOUR_MS;

/** The delay before the restart after the `stops`-th stop: none at first, then exponential up to six hours. */
export function restartDelayMs(stops: number, everyMs: number): number {
  if (stops <= STOPS_WITHOUT_DELAY) return 0;
  return Math.min(MAX_RESTART_DELAY_MS, everyMs * 2 ** Math.min(stops - STOPS_WITHOUT_DELAY, 30));
}
