/** Whether the start proves that the payout is new (contract: doubtful start). */
import { workflowInfo } from '@temporalio/workflow';

/** Only our starters promise that no earlier workflow had this id. */
export function isDoubtfulStart(): boolean {
  return workflowInfo().memo?.['rejectDuplicate'] !== true;
}
