/** The activities of batches. They call only Temporal, so they need no rate limit and no priorities. */
import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { BatchActivities, BatchChecks } from '../../activities/batch/batch-types.ts';

/** The activities are idempotent, and a batch cannot go on without them. */
const UNTIL_DONE = { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '30s' } as const;

export const batchChecks = proxyLocalActivities<BatchChecks>({ startToCloseTimeout: '10s' });

/** The Temporal UI shows `summary` on the event. */
export function batchCalls(summary: string) {
  return proxyActivities<BatchActivities>({
    startToCloseTimeout: '2m',
    // Detects a killed worker.
    heartbeatTimeout: '8s',
    summary,
    retry: UNTIL_DONE,
  });
}
