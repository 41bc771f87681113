/** When a workflow continues as new: far below Temporal's own limits, so that each workflow task stays fast. */
import { workflowInfo } from '@temporalio/workflow';

/** One round of a waiting payout takes about 13 events, one check of a follow-up about 10. */
const MAX_EVENTS = 300;

export function isHistoryLong(maxEvents = MAX_EVENTS, maxBytes = Number.POSITIVE_INFINITY): boolean {
  const { historyLength, historySize, continueAsNewSuggested } = workflowInfo();
  return historyLength >= maxEvents || historySize >= maxBytes || continueAsNewSuggested;
}
