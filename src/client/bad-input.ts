/** Recognizes runs that failed as bad input. Such a run has sent nothing to the provider. */
import { type Client, WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { INVALID_PAYOUT_REQUEST } from '../contract/failure-types.ts';

/**
 * The failure with every bad field, or undefined for any other failure. For a failed run only: waits for an open run.
 */
export async function badInputFailure(
  client: Client,
  workflowId: string,
  runId: string,
): Promise<ApplicationFailure | undefined> {
  try {
    await client.workflow.getHandle(workflowId, runId, { followRuns: false }).result();
    return undefined;
  } catch (error) {
    return error instanceof WorkflowFailedError ? ofType(error.cause, INVALID_PAYOUT_REQUEST) : undefined;
  }
}

export async function failedAsBadInput(client: Client, workflowId: string, runId: string): Promise<boolean> {
  return (await badInputFailure(client, workflowId, runId)) !== undefined;
}

function ofType(error: unknown, type: string): ApplicationFailure | undefined {
  if (error instanceof ApplicationFailure && error.type === type) return error;
  return error instanceof Error && error.cause !== undefined ? ofType(error.cause, type) : undefined;
}
