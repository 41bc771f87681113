/** Maps errors of the client library and of Temporal's client to failures of a verb. */
import {
  ServiceError,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { isConflict } from '../../client/payouts-error.ts';
import { INVALID_PAYOUT_REQUEST, NOT_ACCEPTED_NOW } from '../../contract/failure-types.ts';
import { applicationFailure } from '../../temporal/client-errors.ts';
import { TemporalSetupError } from '../../temporal/connection.ts';
import { BatchEndedError } from '../batches.ts';
import { EXIT, type Failure, invalidInput, NotConfirmedError } from './answer.ts';

export function failureOf(error: unknown): Failure {
  if (isConflict(error)) return { code: 'CONFLICT', message: error.message, exitCode: EXIT.refused };
  if (error instanceof BatchEndedError)
    return { code: 'NOT_ACCEPTED_NOW', message: error.message, exitCode: EXIT.refused };
  if (error instanceof NotConfirmedError)
    return { code: 'NOT_CONFIRMED', message: error.message, exitCode: EXIT.refused };
  if (error instanceof WorkflowNotFoundError)
    return { code: 'NOT_FOUND', message: 'no such payout, batch, request or token', exitCode: EXIT.notFound };
  return workflowFailure(error) ?? unexpected(error);
}

function workflowFailure(error: unknown): Failure | undefined {
  if (!(error instanceof WorkflowFailedError || error instanceof WorkflowUpdateFailedError)) return undefined;
  const cause = applicationFailure(error.cause);
  if (cause?.type === NOT_ACCEPTED_NOW)
    return { code: 'NOT_ACCEPTED_NOW', message: cause.message, exitCode: EXIT.refused };
  if (cause?.type === INVALID_PAYOUT_REQUEST) return invalidInput('INVALID_PAYOUT_REQUEST', cause.message);
  return cause && { code: cause.type ?? 'FAILED', message: cause.message, exitCode: EXIT.unexpected };
}

function unexpected(error: unknown): Failure {
  const message = error instanceof Error ? error.message : 'unexpected error';
  if (error instanceof TemporalSetupError)
    return { code: 'TEMPORAL_UNAVAILABLE', message, exitCode: EXIT.unexpected };
  if (!(error instanceof ServiceError)) return { code: 'UNEXPECTED', message, exitCode: EXIT.unexpected };
  const detail = error.cause instanceof Error ? `${message}: ${error.cause.message}` : message;
  return { code: 'TEMPORAL_UNAVAILABLE', message: detail, exitCode: EXIT.unexpected };
}
