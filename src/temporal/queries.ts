/**
 * Retries queries. A query that would run its workflow on a stale clock fails (`src/workflows/shared/stale-clock.ts`,
 * H52). A retry succeeds, because Temporal answers it with the workflow task that the first query overtook.
 */
import {
  type ClientInterceptors,
  isGrpcServiceError,
  QueryNotRegisteredError,
  ServiceError,
  type WorkflowClientInterceptor,
  type WorkflowHandle,
} from '@temporalio/client';
import { STALE_WORKFLOW_CLOCK } from '../contract/failures.ts';
import { clientSpans } from '../observability/tracing.ts';
import { type Clock, sleep } from '../runtime/runtime.ts';

/** Another retry is needed only if another event arrives during the query. */
const MAX_RETRIES = 4;
const RETRY_PAUSE_MS = 250;

/** Temporal reports every failed query with this error. Its message starts with the failure type. */
export function isStaleClock(error: unknown): boolean {
  return error instanceof QueryNotRegisteredError && error.message.startsWith(STALE_WORKFLOW_CLOCK);
}

const retryStaleQueries = (clock: Clock): WorkflowClientInterceptor => ({
  async query(input, next) {
    for (let left = MAX_RETRIES; ; left -= 1) {
      try {
        return await next(input);
      } catch (error) {
        if (left === 0 || !isStaleClock(error))
          throw queryError(error, input.workflowExecution.workflowId ?? '');
      }
      await sleep(clock, RETRY_PAUSE_MS);
    }
  },
});

export function clientInterceptors(clock: Clock): ClientInterceptors {
  return { workflow: [retryStaleQueries(clock), clientSpans] };
}

/**
 * Returns a function that reports whether the workflow has new history events since the last call; true at the first
 * call. To watch a workflow, poll this function and query only after a change: it needs no worker and does not run the
 * workflow.
 */
export function changeDetector(workflow: Pick<WorkflowHandle, 'describe'>): () => Promise<boolean> {
  let seen: string | undefined;
  return async () => {
    const { runId, historyLength } = await workflow.describe();
    const now = `${runId} ${historyLength}`;
    const hasChanged = now !== seen;
    seen = now;
    return hasChanged;
  };
}

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
