/** The promise of a start that no run had its id before, in the memo's `rejectDuplicate`. */

/** Clocks differ, and requests are repeated, by less. Otherwise the payout confirms first, which takes one query. */
export const PROMISE_HOLDS_MS = 60_000;

const ISO_8601 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

/**
 * Whether the start proves that its id is new. Our starters promise it with the time, because whoever can write to the
 * namespace can send a start again after its end (H330). Programs in other languages may write `true`.
 */
export function provesNewId(promise: unknown, startedMs: number): boolean {
  if (typeof promise === 'string' && ISO_8601.test(promise))
    return Math.abs(startedMs - Date.parse(promise)) <= PROMISE_HOLDS_MS;
  return promise === true;
}
