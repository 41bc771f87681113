/** Sends updates again that Temporal has dropped. */
import { isGrpcServiceError, ServiceError, WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';

/** gRPC status code. */
const FAILED_PRECONDITION = 9;
const MAX_UPDATE_RETRIES = 5;

/**
 * Retries an update that Temporal dropped before any workflow accepted it, so a retry is safe: its workflow task failed
 * (gRPC FAILED_PRECONDITION), or the worker completed the task without the update. The latter is a defect of the SDK's core
 * after a query that ran ahead of the task (H52).
 */
export async function retryDroppedUpdate<T>(send: () => Promise<T>): Promise<T> {
  for (let left = MAX_UPDATE_RETRIES; ; left -= 1) {
    try {
      return await send();
    } catch (error) {
      if (left === 0 || !(wasDroppedWithTask(error) || wasLeftOut(error))) throw error;
    }
  }
}

function wasLeftOut(error: unknown): boolean {
  const cause = error instanceof WorkflowUpdateFailedError ? error.cause : undefined;
  return cause instanceof ApplicationFailure && cause.type === 'UnprocessedUpdate';
}

function wasDroppedWithTask(error: unknown): boolean {
  const cause = error instanceof ServiceError ? error.cause : undefined;
  return (
    isGrpcServiceError(cause) &&
    cause.code === FAILED_PRECONDITION &&
    /workflow task failure/.test(cause.details)
  );
}
