/** Classifies errors of the Temporal client: Temporal itself, or the requested workflow. */
import { isGrpcServiceError, ServiceError, WorkflowNotFoundError } from '@temporalio/client';
import { isStaleClock } from './queries.ts';

/** gRPC status codes. */
const INVALID_ARGUMENT = 3;
const NOT_FOUND = 5;

/** The workflow or run does not exist, or its history was deleted. */
export function isGone(error: unknown): boolean {
  if (error instanceof WorkflowNotFoundError) return true;
  const cause = error instanceof ServiceError ? error.cause : error;
  return isGrpcServiceError(cause) && cause.code === NOT_FOUND;
}

/** Whether a retry may succeed. False for a request that Temporal will always reject. */
export function isRetryableTemporalError(error: unknown): boolean {
  if (isStaleClock(error)) return true;
  const cause = error instanceof ServiceError ? error.cause : error;
  if (isGrpcServiceError(cause)) return cause.code !== INVALID_ARGUMENT;
  return error instanceof ServiceError;
}
