/**
 * The fastest possible round trip of each operation, by those that were seen lately. What a round trip takes beyond it
 * is the most that its request can have been late.
 */

/** What is known goes back one to two spans: a provider that became slower for good counts as such by then. */
const SPAN_MS = 60_000;
/** With fewer than this, nothing is known. */
const LEAST_ROUND_TRIPS = 30;
/** The fastest of `n` round trips is slower than the fastest possible, by about their spread over `n`. */
const SPREADS = 3;

interface Seen {
  fastestMs: number;
  sumMs: number;
  count: number;
}

interface Operation {
  sinceMs: number;
  current: Seen;
  previous: Seen;
}

const NONE: Seen = { fastestMs: Number.POSITIVE_INFINITY, sumMs: 0, count: 0 };

export class RoundTrips {
  private readonly operations = new Map<string, Operation>();

  observe(operation: string, tookMs: number, nowMs: number): void {
    const known = this.operations.get(operation) ?? { sinceMs: nowMs, current: NONE, previous: NONE };
    const isOver = nowMs - known.sinceMs >= SPAN_MS;
    const one = { fastestMs: tookMs, sumMs: tookMs, count: 1 };
    this.operations.set(operation, {
      sinceMs: isOver ? nowMs : known.sinceMs,
      current: isOver ? one : both(known.current, one),
      previous: isOver ? known.current : known.previous,
    });
  }

  /** Zero while little is known: all of a round trip may have been lateness. */
  fastestMs(operation: string): number {
    const known = this.operations.get(operation);
    if (!known) return 0;
    const { fastestMs, sumMs, count } = both(known.current, known.previous);
    if (count < LEAST_ROUND_TRIPS) return 0;
    return Math.max(0, fastestMs - (SPREADS * (sumMs / count - fastestMs)) / count);
  }
}

function both(one: Seen, other: Seen): Seen {
  return {
    fastestMs: Math.min(one.fastestMs, other.fastestMs),
    sumMs: one.sumMs + other.sumMs,
    count: one.count + other.count,
  };
}
