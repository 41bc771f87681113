/**
 * The least that any polling could reach: all open payouts asked one after another, without a pause, at the full rate
 * and without any delay on the way. A payout that is found final costs one more call, for its payments.
 */

export interface RoundRobin {
  /** One for each open payout: when its order becomes final, in ms from the beginning; infinite for one that stays open. */
  finalAtMs: readonly number[];
  callsPerSecond: number;
}

/** For each payout that becomes final, how long after that it is found, in ms. */
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
