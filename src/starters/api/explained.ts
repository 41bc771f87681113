/** What a failure of Temporal, or of a payout, means to who called. */
import {
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { z } from 'zod';
import { BatchConflictError } from '../../client/batches.ts';
import { InvalidPayoutRequestError } from '../../client/invalid-request.ts';
import { PayoutConflictError } from '../../client/payouts.ts';
import { ReceivingAccountConflictError } from '../../client/receiving-accounts.ts';
import { TooManyReadsError } from '../../client/shared-reads.ts';
import { INVALID_PAYOUT_REQUEST, NOT_ACCEPTED_NOW } from '../../contract/failure-types.ts';
import { isGone, isRetryableTemporalError } from '../../temporal/client-errors.ts';
import { badFields, Problem } from './problem.ts';

const TRY_AGAIN_IN_SECONDS = 5;

const fieldErrors = z.array(z.object({ path: z.string(), message: z.string() }));

const CONFLICTS = [PayoutConflictError, BatchConflictError, ReceivingAccountConflictError];

/** Undefined for what nobody foresaw. */
export function explained(error: unknown): Problem | undefined {
  if (error instanceof InvalidPayoutRequestError) return badFields(error.fields);
  if (CONFLICTS.some((conflict) => error instanceof conflict) && error instanceof Error)
    return new Problem(409, error.message);
  if (error instanceof WorkflowFailedError || error instanceof WorkflowUpdateFailedError)
    return failed(applicationFailure(error.cause));
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) return away();
  if (error instanceof TooManyReadsError) return new Problem(503, error.message, TRY_AGAIN_IN_SECONDS);
  return engineFailed(error);
}

/** Bad input is the one way for it to fail. Its number is free for the same start, corrected. */
export function refusedStart(error: unknown): never {
  const problem = explained(error);
  if (problem?.status !== 400) throw error;
  throw new Problem(409, 'its start was refused as bad input', undefined, problem.fields);
}

/** It is known to exist; so what cannot be found is one that still runs. */
export async function unlessEnded<T>(what: string, send: () => Promise<T>): Promise<T> {
  try {
    return await send();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) throw new Problem(409, `this ${what} has ended`);
    throw error;
  }
}

function failed(cause: ApplicationFailure | undefined): Problem {
  if (cause?.type === NOT_ACCEPTED_NOW) return new Problem(409, cause.message);
  if (cause?.type !== INVALID_PAYOUT_REQUEST)
    return new Problem(502, cause?.message ?? 'the payments service gave no usable answer in time');
  const fields = fieldErrors.safeParse(cause.details?.[0]);
  return fields.success ? badFields(fields.data) : new Problem(400, cause.message);
}

function applicationFailure(error: unknown): ApplicationFailure | undefined {
  if (error instanceof ApplicationFailure) return error;
  return error instanceof Error ? applicationFailure(error.cause) : undefined;
}

function engineFailed(error: unknown): Problem | undefined {
  if (isGone(error)) return new Problem(404, 'it is not known');
  return isRetryableTemporalError(error) ? away() : undefined;
}

/** Nobody knows whether it was done: every route can be called again. */
function away(): Problem {
  return new Problem(
    503,
    'Temporal, or a worker, does not answer now. It may have been done: look, or send the same again',
    TRY_AGAIN_IN_SECONDS,
  );
}
