/** What the API server and the CLI share for batches that exist. */
import type { Batches } from '../client/batches.ts';
import type { BatchRef } from '../client/checked-batch.ts';
import { EndedError } from '../client/payouts-error.ts';
import type { BatchState } from '../contract/batch.ts';

/**
 * Stops starting rows; canceling again returns the state again. Throws `EndedError`, and Temporal's
 * `WorkflowNotFoundError` if there is no such batch.
 */
export async function cancelBatch(
  batches: Batches,
  ref: BatchRef,
  withDeadline: <T>(call: () => Promise<T>) => Promise<T>,
): Promise<BatchState> {
  await batches.cancel(ref);
  const state = await withDeadline(() => batches.state(ref));
  if (state.phase === 'DONE' && !state.canceled) throw new EndedError('batch', 'every row is done');
  return state;
}
