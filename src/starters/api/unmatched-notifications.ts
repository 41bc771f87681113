/**
 * Notifications that match no payout yet: a notification may arrive before the answer to the create, and Temporal's
 * visibility lags. Keeps them in bounded memory for two minutes and looks them up again. Dropping one, also by a
 * restart, is safe, because every payout polls.
 */
export interface Unmatched<T> {
  key: string;
  content: T;
  keptAtMs: number;
}

const MAX_COUNT = 10_000;
const KEEP_MS = 120_000;
/** Between two lookups of the same notification. */
const PAUSE_MS = 5_000;

export class UnmatchedNotifications<T> {
  private readonly kept = new Map<string, Unmatched<T> & { nextLookupMs: number }>();

  has(key: string): boolean {
    return this.kept.has(key);
  }

  get size(): number {
    return this.kept.size;
  }

  /** If memory is full, drops the notification at the head of the queue. */
  keep(key: string, content: T, nowMs: number): void {
    const keptAtMs = this.kept.get(key)?.keptAtMs ?? nowMs;
    if (!this.kept.has(key) && this.kept.size >= MAX_COUNT) {
      const [first] = this.kept.keys();
      if (first !== undefined) this.kept.delete(first);
    }
    this.kept.set(key, { key, content, keptAtMs, nextLookupMs: nowMs + PAUSE_MS });
  }

  forget(key: string): void {
    this.kept.delete(key);
  }

  /** The next notification to look up, if one is due. Drops expired ones. */
  due(nowMs: number): Unmatched<T> | undefined {
    for (const [key, one] of this.kept) {
      if (nowMs - one.keptAtMs >= KEEP_MS) this.kept.delete(key);
      else if (one.nextLookupMs <= nowMs) {
        // Moves it to the end of the queue.
        this.kept.delete(key);
        this.kept.set(key, { ...one, nextLookupMs: nowMs + PAUSE_MS });
        return one;
      }
    }
    return undefined;
  }
}
