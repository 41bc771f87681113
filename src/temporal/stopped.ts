/** Stopped workflows: terminated, timed out or failed. */

/** For a visibility query. */
export const STOPPED_STATUSES = "('Terminated', 'TimedOut', 'Failed')";

const NAMES: readonly string[] = ['TERMINATED', 'TIMED_OUT', 'FAILED'];

export function isStopped({ name }: { name: string }): boolean {
  return NAMES.includes(name);
}
