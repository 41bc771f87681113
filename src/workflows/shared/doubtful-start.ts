/** Whether the start proves that the payout is new (contract: doubtful start). */
import { workflowInfo } from '@temporalio/workflow';

/** Only our starters promise that the id was never used before. */
export function isDoubtfulStart(): boolean {
  return workflowInfo().memo?.['rejectDuplicate'] !== true;
}
