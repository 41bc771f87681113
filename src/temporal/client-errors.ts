/** Classifies errors of the Temporal client: Temporal itself, or the requested workflow. */
import {
  isGrpcServiceError,
  ServiceError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { isStaleClock, WorkflowStuckError } from './queries.ts';

/** In the order of their codes. */
const GRPC_STATUSES = [
  ...['OK', 'CANCELLED', 'UNKNOWN', 'INVALID_ARGUMENT', 'DEADLINE_EXCEEDED', 'NOT_FOUND', 'ALREADY_EXISTS'],
  ...['PERMISSION_DENIED', 'RESOURCE_EXHAUSTED', 'FAILED_PRECONDITION', 'ABORTED', 'OUT_OF_RANGE'],
  ...['UNIMPLEMENTED', 'INTERNAL', 'UNAVAILABLE', 'DATA_LOSS', 'UNAUTHENTICATED'],
];
const INVALID_ARGUMENT = GRPC_STATUSES.indexOf('INVALID_ARGUMENT');
const NOT_FOUND = GRPC_STATUSES.indexOf('NOT_FOUND');
const UNSERVED: readonly (string | undefined)[] = ['UNAVAILABLE', 'DEADLINE_EXCEEDED'];
/** How a server with PostgreSQL (1.32) answers a read of a history that does not exist, with INVALID_ARGUMENT. */
const HISTORY_NOT_FOUND = 'Requested workflow history not found';

/** The workflow or run does not exist, or its history was deleted. */
export function isGone(error: unknown): boolean {
  const code = grpcCode(error);
  if (error instanceof WorkflowNotFoundError || code === NOT_FOUND) return true;
  return code === INVALID_ARGUMENT && messageOf(error).includes(HISTORY_NOT_FOUND);
}

/** Such as `UNAVAILABLE`; undefined for an error of another kind. */
export function grpcStatusOf(error: unknown): string | undefined {
  return GRPC_STATUSES[grpcCode(error) ?? -1];
}

/** A worker's connection has the code in the error itself, a client's connection in the cause. */
function grpcCode(error: unknown): number | undefined {
  if (isGrpcServiceError(error)) return error.code;
  return error instanceof ServiceError && isGrpcServiceError(error.cause) ? error.cause.code : undefined;
}

/** The request is one that Temporal will always reject. */
export function isInvalidArgument(error: unknown): boolean {
  return grpcCode(error) === INVALID_ARGUMENT;
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

/** The run ended before an update could be sent to it, or before it could return. */
export function isOfEndedRun(error: unknown): boolean {
  const cause = error instanceof WorkflowUpdateFailedError ? applicationFailure(error.cause) : undefined;
  return isGone(error) || cause?.type === 'AcceptedUpdateCompletedWorkflow';
}

/** The failure that a workflow or an activity raised, from the chain of causes. */
export function applicationFailure(error: unknown): ApplicationFailure | undefined {
  if (error instanceof ApplicationFailure) return error;
  return error instanceof Error ? applicationFailure(error.cause) : undefined;
}

/** Temporal did not serve the request, for example because its database is down. It may have been done anyway. */
export function isUnserved(error: unknown): boolean {
  return UNSERVED.includes(grpcStatusOf(error));
}

/** What the server says of a failed call, such as `UNAVAILABLE: connection refused`. */
export function serverMessageOf(error: unknown): string {
  return messageOf(error).replace(/^\d+ (?=[A-Z_]+:)/, '');
}

/** The message of the innermost cause, which is the most specific. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unexpected error';
  if (error instanceof WorkflowStuckError) return error.message;
  return error.cause instanceof Error ? messageOf(error.cause) : error.message;
}

/** Whether a retry may succeed. False for a request that Temporal will always reject. */
export function isRetryableTemporalError(error: unknown): boolean {
  if (isStaleClock(error)) return true;
  const code = grpcCode(error);
  return code === undefined ? error instanceof ServiceError : code !== INVALID_ARGUMENT;
}
