/** What a failed question to Temporal was about: the engine, or the one workflow that was asked for. */
import { isGrpcServiceError, ServiceError, WorkflowNotFoundError } from '@temporalio/client';

/** gRPC's status of that name. */
const NOT_FOUND = 5;

/** There is no such workflow or run, or its history has been deleted. */
export function isGone(error: unknown): boolean {
  if (error instanceof WorkflowNotFoundError) return true;
  const cause = error instanceof ServiceError ? error.cause : error;
  return isGrpcServiceError(cause) && cause.code === NOT_FOUND;
}

/** Worth another try later. */
export function isEngineError(error: unknown): boolean {
  return error instanceof ServiceError || isGrpcServiceError(error);
}
