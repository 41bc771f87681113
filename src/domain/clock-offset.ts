/** How far another clock is from ours, as far as one reading can tell. */

/** Milliseconds by which the other clock is surely ahead (above 0) or behind (below 0); 0: nothing says that it differs. */
export type ClockOffset = number;

/**
 * `thereMs` was read by somebody else between `beforeMs` and `afterMs` of ours, and stands for any moment up to
 * `coarseMs` later: what lies within that is no difference.
 */
export function clockOffset(thereMs: number, beforeMs: number, afterMs: number, coarseMs = 0): ClockOffset {
  if (thereMs > afterMs) return thereMs - afterMs;
  return thereMs + coarseMs < beforeMs ? thereMs + coarseMs - beforeMs : 0;
}
