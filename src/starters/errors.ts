/** Errors of the client library and of Temporal's client, as the API server and the CLI distinguish them. */
import { ApplicationFailure } from '@temporalio/common';
import { BatchConflictError } from '../client/batches.ts';
import { PayoutConflictError } from '../client/payouts.ts';
import { ReceivingAccountConflictError } from '../client/receiving-accounts.ts';

export function isConflict(error: unknown): error is Error {
  return [PayoutConflictError, BatchConflictError, ReceivingAccountConflictError].some(
    (conflict) => error instanceof conflict,
  );
}

/** The failure that a workflow or an activity raised, from the chain of causes. */
export function applicationFailure(error: unknown): ApplicationFailure | undefined {
  if (error instanceof ApplicationFailure) return error;
  return error instanceof Error ? applicationFailure(error.cause) : undefined;
}
