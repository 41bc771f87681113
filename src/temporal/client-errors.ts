/** What a failed question to Temporal was about: the engine, or the one workflow that was asked for. */
import { isGrpcServiceError, ServiceError, WorkflowNotFoundError } from '@temporalio/client';
import { isStaleClock } from './queries.ts';

/** gRPC's statuses of those names. */
const INVALID_ARGUMENT = 3;
const NOT_FOUND = 5;

/** There is no such workflow or run, or its history has been deleted. */
export function isGone(error: unknown): boolean {
  if (error instanceof WorkflowNotFoundError) return true;
  const cause = error instanceof ServiceError ? error.cause : error;
  return isGrpcServiceError(cause) && cause.code === NOT_FOUND;
}

/** Worth another try later; a question that the engine will never take is not. */
export function isRetryableTemporalError(error: unknown): boolean {
  if (isStaleClock(error)) return true;
  const cause = error instanceof ServiceError ? error.cause : error;
  if (isGrpcServiceError(cause)) return cause.code !== INVALID_ARGUMENT;
  return error instanceof ServiceError;
}
