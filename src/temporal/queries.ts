/**
 * How every client of ours sends a query. One that would have run its workflow on a stale clock fails
 * (`src/workflows/shared/stale-clock.ts`, H52) and is sent again: the workflow task that it came ahead of is on its way, and
 * Temporal answers the second query with that task.
 */
import {
  type ClientInterceptors,
  QueryNotRegisteredError,
  type WorkflowClientInterceptor,
  type WorkflowHandle,
} from '@temporalio/client';
import { STALE_WORKFLOW_CLOCK } from '../contract/failure-types.ts';
import { type Clock, sleep } from '../surroundings/surroundings.ts';

/** Each time it takes another event that arrives while the query is on its way. */
const MOST_TIMES_AGAIN = 4;
const PAUSE_MS = 250;

/** Temporal reports every failed query in one way; the failure's type begins its message. */
export function isStaleClock(error: unknown): boolean {
  return error instanceof QueryNotRegisteredError && error.message.startsWith(STALE_WORKFLOW_CLOCK);
}

const queriesAgain = (clock: Clock): WorkflowClientInterceptor => ({
  async query(input, next) {
    for (let left = MOST_TIMES_AGAIN; ; left -= 1) {
      try {
        return await next(input);
      } catch (error) {
        if (left === 0 || !isStaleClock(error)) throw error;
      }
      await sleep(clock, PAUSE_MS);
    }
  },
});

/** For `new Client(…)`. */
export function clientInterceptors(clock: Clock): ClientInterceptors {
  return { workflow: [queriesAgain(clock)] };
}

/**
 * Whether anything has happened in a workflow since this was last asked, at first yes. Whoever watches a workflow asks
 * this again and again and queries it where the answer is yes: this costs no worker anything, and runs no workflow.
 */
export function changeDetector(workflow: Pick<WorkflowHandle, 'describe'>): () => Promise<boolean> {
  let seen: string | undefined;
  return async () => {
    const { runId, historyLength } = await workflow.describe();
    const now = `${runId} ${historyLength}`;
    const isNews = now !== seen;
    seen = now;
    return isNews;
  };
}
