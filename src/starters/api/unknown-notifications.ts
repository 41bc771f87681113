/**
 * Notifications for orders that nobody knows yet: one may overtake the create's own answer, and Temporal's
 * visibility lags. They are kept in bounded memory for two minutes and looked up again; then they are
 * dropped, for polling stands behind every payout. A restart drops them too.
 */
export interface Unknown<T> {
  key: string;
  content: T;
  keptAtMs: number;
}

export interface UnknownOptions {
  most?: number;
  keepMs?: number;
  /** One that was looked up rests this long. */
  restMs?: number;
}

const MOST = 10_000;
const KEEP_MS = 120_000;
const REST_MS = 5_000;

export class UnknownNotifications<T> {
  private readonly kept = new Map<string, Unknown<T> & { lookAtMs: number }>();
  private readonly limits: Required<UnknownOptions>;

  constructor(options: UnknownOptions = {}) {
    this.limits = { most: MOST, keepMs: KEEP_MS, restMs: REST_MS, ...options };
  }

  has(key: string): boolean {
    return this.kept.has(key);
  }

  get size(): number {
    return this.kept.size;
  }

  /** The first in line makes room when memory is full. */
  keep(key: string, content: T, nowMs: number): void {
    const keptAtMs = this.kept.get(key)?.keptAtMs ?? nowMs;
    if (!this.kept.has(key) && this.kept.size >= this.limits.most) this.dropFirst();
    this.kept.set(key, { key, content, keptAtMs, lookAtMs: nowMs + this.limits.restMs });
  }

  forget(key: string): void {
    this.kept.delete(key);
  }

  /** The one that has waited longest for a look, if any may be looked up now; what is too old is dropped. */
  due(nowMs: number): Unknown<T> | undefined {
    for (const [key, one] of this.kept) {
      if (nowMs - one.keptAtMs >= this.limits.keepMs) this.kept.delete(key);
      else if (one.lookAtMs <= nowMs) {
        // To the end of the line, so that everybody gets a turn.
        this.kept.delete(key);
        this.kept.set(key, { ...one, lookAtMs: nowMs + this.limits.restMs });
        return one;
      }
    }
    return undefined;
  }

  private dropFirst(): void {
    const [first] = this.kept.keys();
    if (first !== undefined) this.kept.delete(first);
  }
}
