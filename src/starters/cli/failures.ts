/** Maps errors of the client library and of Temporal's client to failures of a command. */
import {
  ServiceError,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { isConflict, isNotAccepted } from '../../client/payouts-error.ts';
import { INVALID_PAYOUT_REQUEST, NOT_ACCEPTED_NOW } from '../../contract/failures.ts';
import { isUndecryptable } from '../../encryption/payload-codec.ts';
import {
  applicationFailure,
  grpcStatusOf,
  isUnserved,
  serverMessageOf,
  WorkflowStuckError,
} from '../../temporal/client-errors.ts';
import { TemporalSetupError } from '../../temporal/connection.ts';
import { EXIT, type Failure, invalidInput, NotConfirmedError } from './output.ts';

const OTHER_KEYS =
  'this machine cannot decrypt what the workers encrypt: set PAYOUTS_ENCRYPTION_KEYS to their keys';

export function failureOf(error: unknown): Failure {
  if (isConflict(error)) return { code: 'CONFLICT', message: error.message, exitCode: EXIT.refused };
  if (isNotAccepted(error))
    return { code: 'NOT_ACCEPTED_NOW', message: error.message, exitCode: EXIT.refused };
  if (error instanceof NotConfirmedError)
    return { code: 'NOT_CONFIRMED', message: error.message, exitCode: EXIT.refused };
  if (error instanceof WorkflowNotFoundError)
    return { code: 'NOT_FOUND', message: 'no such payout, batch, request or token', exitCode: EXIT.notFound };
  if (isUndecryptable(error))
    return { code: 'CANNOT_DECRYPT', message: OTHER_KEYS, exitCode: EXIT.unexpected };
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
  const message = unavailableText(error);
  if (message !== undefined) return { code: 'TEMPORAL_UNAVAILABLE', message, exitCode: EXIT.unexpected };
  const text = error instanceof Error ? error.message : 'unexpected error';
  return { code: 'UNEXPECTED', message: text, exitCode: EXIT.unexpected };
}

/** Undefined unless Temporal or a worker is the cause. */
function unavailableText(error: unknown): string | undefined {
  if (error instanceof TemporalSetupError || error instanceof WorkflowStuckError) return error.message;
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError)
    return `neither a worker nor the provider answered in time, so whether the change was made is unknown. ${ASK_DOCTOR}`;
  if (isUnserved(error))
    return `${UNSERVED[grpcStatusOf(error) ?? '']} (${serverMessageOf(error)}). ${ASK_DOCTOR}`;
  if (!(error instanceof ServiceError)) return undefined;
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}

/** By gRPC status. */
const UNSERVED: Readonly<Record<string, string>> = {
  UNAVAILABLE: 'Temporal cannot serve the request: its database or one of its services may be down',
  DEADLINE_EXCEEDED: 'Temporal, or the worker that the request needs, did not answer in time',
};
const ASK_DOCTOR = 'Run payouts doctor: it says what does not work';
