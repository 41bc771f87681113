/** What batches ask of their activities, which talk to Temporal only: no rate limit, no priorities. */
import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { BatchActivities, BatchChecks } from '../../activities/batch/batch-types.ts';

/** Nothing is lost by asking again, and a batch has nothing better to do than to wait for its engine. */
const UNTIL_DONE = { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '30s' } as const;

export const batchChecks = proxyLocalActivities<BatchChecks>({ startToCloseTimeout: '10s' });

/** `summary` is what the Temporal UI shows on the event. */
export function batchCalls(summary: string) {
  return proxyActivities<BatchActivities>({
    startToCloseTimeout: '2m',
    // A worker that was killed is noticed this soon.
    heartbeatTimeout: '8s',
    summary,
    retry: UNTIL_DONE,
  });
}
