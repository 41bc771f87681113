/** Recognizes runs that failed as bad input. Such a run has sent nothing to the provider. */
import { type Client, WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { INVALID_PAYOUT_REQUEST } from '../contract/failures.ts';
import { isRequestOf } from '../contract/payout-request.ts';
import type { Clock } from '../runtime/runtime.ts';
import { type DecisiveRun, decisiveRun } from '../temporal/decisive-run.ts';

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

/**
 * The run that decides about a payout that is known to be started, and whose latest run failed as bad input. Undefined if
 * its start was rejected, too. Throws `VisibilityLagsError`.
 */
export function startedBefore(
  client: Client,
  clock: Clock,
  { workflowId, runId }: { workflowId: string; runId: string },
): Promise<DecisiveRun | undefined> {
  return decisiveRun(client, {
    ...{ workflowId, latest: { runId, isBadInput: true }, clock, wasStarted: true },
    isValid: (argument) => isRequestOf(workflowId, argument),
  });
}

export async function failedAsBadInput(client: Client, workflowId: string, runId: string): Promise<boolean> {
  return (await badInputFailure(client, workflowId, runId)) !== undefined;
}

function ofType(error: unknown, type: string): ApplicationFailure | undefined {
  if (error instanceof ApplicationFailure && error.type === type) return error;
  return error instanceof Error && error.cause !== undefined ? ofType(error.cause, type) : undefined;
}
