/** Why a verb failed that had reached Temporal, or could not. */
import {
  ServiceError,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { BatchConflictError } from '../../client/batches.ts';
import { PayoutConflictError } from '../../client/payouts.ts';
import { ReceivingAccountConflictError } from '../../client/receiving-accounts.ts';
import { INVALID_PAYOUT_REQUEST, NOT_ACCEPTED_NOW } from '../../contract/failure-types.ts';
import { bad, EXIT, type Failure } from './answer.ts';

const CONFLICTS = [PayoutConflictError, BatchConflictError, ReceivingAccountConflictError];

export function explain(error: unknown): Failure {
  if (CONFLICTS.some((conflict) => error instanceof conflict) && error instanceof Error)
    return { code: 'CONFLICT', message: error.message, exitCode: EXIT.refused };
  if (error instanceof WorkflowNotFoundError)
    return {
      code: 'NOT_FOUND',
      message: 'there is no such payout, request or token',
      exitCode: EXIT.notFound,
    };
  return explainFailure(error) ?? unexpected(error);
}

function explainFailure(error: unknown): Failure | undefined {
  if (!(error instanceof WorkflowFailedError || error instanceof WorkflowUpdateFailedError)) return undefined;
  const cause = applicationFailure(error.cause);
  if (cause?.type === NOT_ACCEPTED_NOW)
    return { code: 'NOT_ACCEPTED_NOW', message: cause.message, exitCode: EXIT.refused };
  if (cause?.type === INVALID_PAYOUT_REQUEST) return bad('INVALID_PAYOUT_REQUEST', cause.message);
  return cause && { code: cause.type ?? 'FAILED', message: cause.message, exitCode: EXIT.unexpected };
}

function applicationFailure(error: unknown): ApplicationFailure | undefined {
  if (error instanceof ApplicationFailure) return error;
  return error instanceof Error && error.cause !== undefined ? applicationFailure(error.cause) : undefined;
}

function unexpected(error: unknown): Failure {
  const message = error instanceof Error ? error.message : 'something unexpected went wrong';
  if (!(error instanceof ServiceError)) return { code: 'UNEXPECTED', message, exitCode: EXIT.unexpected };
  const why = error.cause instanceof Error ? `${message}: ${error.cause.message}` : message;
  return { code: 'ENGINE', message: why, exitCode: EXIT.unexpected };
}
