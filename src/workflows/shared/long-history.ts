/** When a workflow goes on as new: far below the engine's own limits, so that every task of it stays quick. */
import { workflowInfo } from '@temporalio/workflow';

/** A waiting round of a payout is about 13 events, a term of the rate-limit lease or a look of a follow-up about 10. */
const LONG_HISTORY_EVENTS = 300;

export function isHistoryLong(): boolean {
  const { historyLength, continueAsNewSuggested } = workflowInfo();
  return historyLength >= LONG_HISTORY_EVENTS || continueAsNewSuggested;
}
