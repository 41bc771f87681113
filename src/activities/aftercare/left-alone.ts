/** One workflow that cannot be read must not keep a reconciliation from the others. */
import { isGone, isRetryableTemporalError } from '../../temporal/client-errors.ts';

/** `not-ours`: nothing is left of it. `why`: for a person, for nobody will start it again. */
export async function unlessUnreadable<V>(work: () => Promise<V>): Promise<V | 'not-ours' | { why: string }> {
  try {
    return await work();
  } catch (error) {
    if (isGone(error)) return 'not-ours';
    // The engine is away or busy: everything is tried again. Anything else is about this workflow alone.
    if (isRetryableTemporalError(error)) throw error;
    return { why: error instanceof Error ? `cannot be read: ${error.name}` : 'cannot be read' };
  }
}
