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

/** The result of `work`; undefined if the workflow, the run or its history is gone. */
export async function unlessGone<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

/** Whether a retry may succeed. False for a request that Temporal will always reject. */
export function isRetryableTemporalError(error: unknown): boolean {
  if (isStaleClock(error)) return true;
  const cause = error instanceof ServiceError ? error.cause : error;
  if (isGrpcServiceError(cause)) return cause.code !== INVALID_ARGUMENT;
  return error instanceof ServiceError;
}
