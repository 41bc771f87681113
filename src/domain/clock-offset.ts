/** The offset of another clock from ours, as far as one reading can prove it. */

/** Milliseconds by which the other clock is provably ahead (above 0) or behind (below 0). 0: no proven difference. */
export type ClockOffset = number;

/**
 * The other clock read `theirsMs` between `beforeMs` and `afterMs` of our clock. The reading is truncated: the actual
 * time may be up to `resolutionMs` later.
 */
export function clockOffset(
  theirsMs: number,
  beforeMs: number,
  afterMs: number,
  resolutionMs = 0,
): ClockOffset {
  if (theirsMs > afterMs) return theirsMs - afterMs;
  return theirsMs + resolutionMs < beforeMs ? theirsMs + resolutionMs - beforeMs : 0;
}
