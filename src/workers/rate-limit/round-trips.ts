/** Estimates the fastest possible round trip of each operation. Whatever exceeds it may have delayed the request. */

/** The estimate covers one to two spans, so that it adapts when the provider becomes slower. */
const SPAN_MS = 60_000;
/** With fewer round trips, there is no estimate. */
const MIN_ROUND_TRIPS = 30;
/** The fastest of `n` round trips exceeds the fastest possible by about their spread divided by `n`. */
const SPREADS = 3;

interface Sample {
  fastestMs: number;
  sumMs: number;
  count: number;
}

interface Operation {
  sinceMs: number;
  current: Sample;
  previous: Sample;
}

const EMPTY: Sample = { fastestMs: Number.POSITIVE_INFINITY, sumMs: 0, count: 0 };

export class RoundTrips {
  private readonly operations = new Map<string, Operation>();

  observe(operation: string, tookMs: number, nowMs: number): void {
    const known = this.operations.get(operation) ?? { sinceMs: nowMs, current: EMPTY, previous: EMPTY };
    const isOver = nowMs - known.sinceMs >= SPAN_MS;
    const one = { fastestMs: tookMs, sumMs: tookMs, count: 1 };
    this.operations.set(operation, {
      sinceMs: isOver ? nowMs : known.sinceMs,
      current: isOver ? one : merged(known.current, one),
      previous: isOver ? known.current : known.previous,
    });
  }

  /** Zero without an estimate: the request may have been late by the whole round trip. */
  fastestMs(operation: string): number {
    const known = this.operations.get(operation);
    if (!known) return 0;
    const { fastestMs, sumMs, count } = merged(known.current, known.previous);
    if (count < MIN_ROUND_TRIPS) return 0;
    return Math.max(0, fastestMs - (SPREADS * (sumMs / count - fastestMs)) / count);
  }
}

function merged(one: Sample, other: Sample): Sample {
  return {
    fastestMs: Math.min(one.fastestMs, other.fastestMs),
    sumMs: one.sumMs + other.sumMs,
    count: one.count + other.count,
  };
}
