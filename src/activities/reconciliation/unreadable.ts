/** Keeps one unreadable workflow from stopping a reconciliation. */
import type { Unresolved } from '../../domain/reconciliation.ts';
import { inParallel } from '../../runtime/runtime.ts';
import { isGone, isRetryableTemporalError } from '../../temporal/client-errors.ts';

/** `not-ours`: this worker has nothing to do. `reason`: a person must look at the workflow. */
export type Verdict<V> = V | 'not-ours' | { reason: string };

/** Runs `work` for each workflow. Adds those for a person to `unresolved`, and returns the other verdicts. */
export async function forEachReadable<V extends string>(
  workflowIds: readonly string[],
  unresolved: Unresolved[],
  work: (workflowId: string) => Promise<Verdict<V>>,
): Promise<(V | 'not-ours')[]> {
  const verdicts = await inParallel(workflowIds, async (workflowId) => {
    const verdict = await unlessUnreadable(() => work(workflowId));
    if (typeof verdict === 'string') return [verdict];
    unresolved.push({ workflowId, reason: verdict.reason });
    return [];
  });
  return verdicts.flat();
}

export async function unlessUnreadable<V>(work: () => Promise<V>): Promise<Verdict<V>> {
  try {
    return await work();
  } catch (error) {
    if (isGone(error)) return 'not-ours';
    // Temporal is unavailable or busy, so retry the whole activity. All other errors concern only this workflow.
    if (isRetryableTemporalError(error)) throw error;
    return { reason: error instanceof Error ? `cannot be read: ${error.name}` : 'cannot be read' };
  }
}
