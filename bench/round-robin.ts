/**
 * The lower bound for polling: all open payouts polled in turn, without pauses, at the full rate and without delays. A payout
 * that is found final costs one more call, for its payments.
 */

export interface RoundRobin {
  /** For each open payout, when its order becomes final, in ms from the start; infinite if it stays open. */
  finalAtMs: readonly number[];
  callsPerSecond: number;
}

/** For each payout that becomes final, the time until it is found, in ms. */
export function roundRobinDetects({ finalAtMs, callsPerSecond }: RoundRobin): number[] {
  const step = 1_000 / callsPerSecond;
  const detects: number[] = [];
  let open = [...finalAtMs];
  let left = open.filter(Number.isFinite).length;
  let now = 0;
  while (left > 0) {
    const still: number[] = [];
    for (const finalMs of open) {
      now += step;
      if (finalMs > now) {
        still.push(finalMs);
        continue;
      }
      detects.push(now - finalMs);
      now += step;
      left -= 1;
    }
    open = still;
  }
  return detects;
}
