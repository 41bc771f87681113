/** A query that Temporal refuses because the workflow is stuck. */
import { isGrpcServiceError, ServiceError } from '@temporalio/client';

/** gRPC status code. */
const FAILED_PRECONDITION = 9;
/** How Temporal answers a query while the workflow task keeps failing. */
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
  const { code, details } = error.cause;
  const isStuck = code === FAILED_PRECONDITION && TASK_FAILED.test(details);
  return isStuck ? new WorkflowStuckError(workflowId, error.cause) : error;
}
