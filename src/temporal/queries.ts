/**
 * Retries queries. A query that would run its workflow on a stale clock fails (`src/workflows/shared/stale-clock.ts`,
 * H52). A retry succeeds, because Temporal serves it with the workflow task that the first query overtook.
 */
import type {
  Client,
  ClientInterceptors,
  WorkflowClientInterceptor,
  WorkflowHandle,
} from '@temporalio/client';
import { clientSpans } from '../observability/tracing.ts';
import { type Clock, sleep } from '../runtime/runtime.ts';
import { isStaleClock, queryError } from './client-errors.ts';
import { whileWorkerRuns } from './worker-watch.ts';

/** Another retry is needed only if another event arrives during the query. */
const MAX_RETRIES = 4;
const RETRY_PAUSE_MS = 250;

/** A query then doesn't wait for a worker that is gone. */
const watchWorkers = (clock: Clock, client: () => Client): WorkflowClientInterceptor => ({
  query: (input, next) => whileWorkerRuns(client(), clock, () => next(input)),
});

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

/** With `client`, its queries throw `NoWorkerError` if no worker runs. */
export function clientInterceptors(clock: Clock, client?: () => Client): ClientInterceptors {
  const watch = client ? [watchWorkers(clock, client)] : [];
  return { workflow: [...watch, retryStaleQueries(clock), clientSpans] };
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
