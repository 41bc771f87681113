/** Workflows that were ended by something else than their own will: terminated, timed out, failed. */

/** As a query of the visibility store takes them. */
export const STOPPED_STATUSES = "('Terminated', 'TimedOut', 'Failed')";

const NAMES: readonly string[] = ['TERMINATED', 'TIMED_OUT', 'FAILED'];

export function isStopped({ name }: { name: string }): boolean {
  return NAMES.includes(name);
}
