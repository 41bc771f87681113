/** Classifies errors of the Temporal client: Temporal itself, or the requested workflow. */
import {
  isGrpcServiceError,
  QueryNotRegisteredError,
  ServiceError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { STALE_WORKFLOW_CLOCK } from '../contract/failures.ts';

/** In the order of their codes. */
const GRPC_STATUSES = [
  ...['OK', 'CANCELLED', 'UNKNOWN', 'INVALID_ARGUMENT', 'DEADLINE_EXCEEDED', 'NOT_FOUND', 'ALREADY_EXISTS'],
  ...['PERMISSION_DENIED', 'RESOURCE_EXHAUSTED', 'FAILED_PRECONDITION', 'ABORTED', 'OUT_OF_RANGE'],
  ...['UNIMPLEMENTED', 'INTERNAL', 'UNAVAILABLE', 'DATA_LOSS', 'UNAUTHENTICATED'],
];
const UNSERVED: readonly (string | undefined)[] = ['UNAVAILABLE', 'DEADLINE_EXCEEDED'];
/** What a server with PostgreSQL (1.32) returns for a history that doesn't exist, with INVALID_ARGUMENT. */
const HISTORY_NOT_FOUND = 'Requested workflow history not found';

/** The workflow or run does not exist, or its history was deleted. */
export function isGone(error: unknown): boolean {
  if (error instanceof WorkflowNotFoundError || grpcStatusOf(error) === 'NOT_FOUND') return true;
  return isInvalidArgument(error) && messageOf(error).includes(HISTORY_NOT_FOUND);
}

/**
 * Such as `UNAVAILABLE`; undefined for an error of another kind. A worker's connection has the code in the error itself, a
 * client's connection in the cause.
 */
export function grpcStatusOf(error: unknown): string | undefined {
  const found = isGrpcServiceError(error) || !(error instanceof ServiceError) ? error : error.cause;
  return isGrpcServiceError(found) ? GRPC_STATUSES[found.code] : undefined;
}

/** The request is one that Temporal will always reject. */
export function isInvalidArgument(error: unknown): boolean {
  return grpcStatusOf(error) === 'INVALID_ARGUMENT';
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
  return grpcStatusOf(error) === undefined ? error instanceof ServiceError : !isInvalidArgument(error);
}

/** For `catch`: undefined if a retry would not help, such as for a payload that this process cannot decrypt. */
export function throwRetryable(error: unknown): undefined {
  if (isRetryableTemporalError(error)) throw error;
}

/** Temporal reports every failed query with this error. Its message starts with the failure type. */
export function isStaleClock(error: unknown): boolean {
  return error instanceof QueryNotRegisteredError && error.message.startsWith(STALE_WORKFLOW_CLOCK);
}

/** What Temporal returns for a query while the workflow task keeps failing. */
const TASK_FAILED = /workflow task in failed state/i;

/** The message names the workflow and the usual causes. The cause is the error of the connection. */
export class WorkflowStuckError extends ServiceError {
  override readonly name = 'WorkflowStuckError';
  readonly workflowId: string;

  constructor(workflowId: string, cause?: Error) {
    super(
      `the workflow ${workflowId} is stuck: its workflow task keeps failing. The usual causes: a worker lacks an encryption key, or runs other code than the workflow needs. The worker's log names the cause; see docs/operations.md, Stuck workflows`,
      cause && { cause },
    );
    this.workflowId = workflowId;
  }
}

/** `error`, or `WorkflowStuckError` if it says that the workflow is stuck. */
export function queryError(error: unknown, workflowId: string): unknown {
  if (!(error instanceof ServiceError) || !isGrpcServiceError(error.cause)) return error;
  const isStuck = grpcStatusOf(error) === 'FAILED_PRECONDITION' && TASK_FAILED.test(error.cause.details);
  return isStuck ? new WorkflowStuckError(workflowId, error.cause) : error;
}
