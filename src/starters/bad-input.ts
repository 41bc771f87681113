/** Whether a payout's run failed because it was bad input: then nothing was asked of the payments service. */
import { type Client, WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { INVALID_PAYOUT_REQUEST } from '../domain/failure-types.ts';

/** Only for a run that has failed: any other is waited for. */
export async function failedAsBadInput(client: Client, workflowId: string, runId: string): Promise<boolean> {
  try {
    await client.workflow.getHandle(workflowId, runId, { followRuns: false }).result();
    return false;
  } catch (error) {
    return error instanceof WorkflowFailedError && rootIs(error.cause, INVALID_PAYOUT_REQUEST);
  }
}

function rootIs(error: unknown, type: string): boolean {
  if (error instanceof ApplicationFailure && error.type === type) return true;
  return error instanceof Error && error.cause !== undefined && rootIs(error.cause, type);
}
