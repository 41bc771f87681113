/** Unix milliseconds as ISO 8601 text. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

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
