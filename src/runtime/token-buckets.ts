/** Rate limits: a token bucket for each key, such as a client's network, in bounded memory. */
import type { Clock } from './runtime.ts';

export interface BucketSize {
  /** The tokens of a full bucket. */
  burst: number;
  /** The time in which a bucket gains one token, in milliseconds. */
  refillMs: number;
}

interface Bucket {
  left: number;
  atMs: number;
}

const MAX_BUCKETS = 10_000;

export class TokenBuckets {
  private readonly bucketSize: BucketSize;
  private readonly clock: Clock;
  /** The buckets that are not full, in the order of their last use. */
  private readonly buckets = new Map<string, Bucket>();

  constructor(size: BucketSize, clock: Clock) {
    this.bucketSize = size;
    this.clock = clock;
  }

  /** Takes a token. Returns false if none is left. */
  take(key = ''): boolean {
    const bucket = this.bucket(key);
    if (bucket.left < 1) return false;
    this.buckets.delete(key);
    this.buckets.set(key, { ...bucket, left: bucket.left - 1 });
    this.forgetOldest(bucket.atMs);
    return true;
  }

  /** How long until `take` succeeds, in milliseconds. */
  waitMs(key = ''): number {
    const { left } = this.bucket(key);
    return left >= 1 ? 0 : Math.ceil((1 - left) * this.bucketSize.refillMs);
  }

  /** Returns a token that was taken for nothing. */
  giveBack(key = ''): void {
    const bucket = this.bucket(key);
    const left = bucket.left + 1;
    if (left >= this.bucketSize.burst) this.buckets.delete(key);
    else this.buckets.set(key, { ...bucket, left });
  }

  /** The number of buckets in memory. */
  get size(): number {
    return this.buckets.size;
  }

  private bucket(key: string): Bucket {
    const { burst, refillMs } = this.bucketSize;
    const nowMs = this.clock.nowMs();
    const { left, atMs } = this.buckets.get(key) ?? { left: burst, atMs: nowMs };
    return { left: Math.min(burst, left + (nowMs - atMs) / refillMs), atMs: nowMs };
  }

  /** Forgets buckets that are full again, and the oldest ones beyond `MAX_BUCKETS`. */
  private forgetOldest(nowMs: number): void {
    const fullAfterMs = this.bucketSize.burst * this.bucketSize.refillMs;
    for (const [oldest, { atMs }] of this.buckets) {
      if (this.buckets.size <= MAX_BUCKETS && atMs + fullAfterMs > nowMs) return;
      this.buckets.delete(oldest);
    }
  }
}
