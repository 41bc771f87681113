/** The rate limit per application: at most N calls in any sliding 1000 ms, measured at arrival. */
const WINDOW_MS = 1000;

interface AppCalls {
  /** Ascending arrival times within the last window: all calls, served calls, calls that count against the limit. */
  arrivals: number[];
  served: number[];
  counted: number[];
  calls: number;
  rejected: number;
  maxArrivals: number;
  maxServed: number;
}

export interface AppCallCounts {
  calls: number;
  served: number;
  rejected: number;
  maxCallsInAnySecond: number;
  maxServedInAnySecond: number;
}

export class RateLimit {
  readonly #apps = new Map<string, AppCalls>();

  /** Whether the call that arrived at `atMs` is served. */
  admit(appId: string, atMs: number, limit: number, rejectedCallsCount: boolean): boolean {
    const app = this.#callsOf(appId);
    const admitted = inWindow(app.counted, atMs) < limit;
    app.calls += 1;
    record(app.arrivals, atMs);
    app.maxArrivals = Math.max(app.maxArrivals, inWindow(app.arrivals, atMs));
    if (admitted || rejectedCallsCount) record(app.counted, atMs);
    if (admitted) {
      record(app.served, atMs);
      app.maxServed = Math.max(app.maxServed, inWindow(app.served, atMs));
    } else app.rejected += 1;
    return admitted;
  }

  counts(): Record<string, AppCallCounts> {
    return Object.fromEntries([...this.#apps].map(([appId, app]) => [appId, countsOf(app)]));
  }

  reset(): void {
    this.#apps.clear();
  }

  #callsOf(appId: string): AppCalls {
    const known = this.#apps.get(appId);
    if (known) return known;
    const fresh: AppCalls = {
      arrivals: [],
      served: [],
      counted: [],
      calls: 0,
      rejected: 0,
      maxArrivals: 0,
      maxServed: 0,
    };
    this.#apps.set(appId, fresh);
    return fresh;
  }
}

function countsOf(app: AppCalls): AppCallCounts {
  return {
    calls: app.calls,
    served: app.calls - app.rejected,
    rejected: app.rejected,
    maxCallsInAnySecond: app.maxArrivals,
    maxServedInAnySecond: app.maxServed,
  };
}

/** Times may come slightly out of order, because bodies are read between arrival and this check. */
function record(times: number[], atMs: number): void {
  let index = times.length;
  while (index > 0 && (times[index - 1] ?? 0) > atMs) index -= 1;
  times.splice(index, 0, atMs);
  while ((times[0] ?? atMs) <= atMs - WINDOW_MS) times.shift();
}

function inWindow(times: readonly number[], atMs: number): number {
  let count = 0;
  for (let index = times.length - 1; index >= 0 && (times[index] ?? 0) > atMs - WINDOW_MS; index -= 1)
    count += 1;
  return count;
}
