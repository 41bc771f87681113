/** Rate limits of requests with a key: the requests of each caller, and the unknown keys of each address. They hold per process. */

import type { Caller } from '../../config/callers.ts';
import type { HashedKey } from '../../config/keys.ts';
import type { Clock } from '../../runtime/runtime.ts';
import { type BucketSize, networkOf, TokenBuckets } from '../../runtime/token-buckets.ts';
import { Problem, retryAfter, tooManyRequests } from '../../service/problem.ts';

/** Too few to guess even a short key, and enough that a program with a removed key does not block its neighbors. */
const UNKNOWN_KEYS = { burst: 100, refillMs: 50 };
/** A full bucket allows the requests of this many seconds. */
const BURST_SECONDS = 2;
const MAX_USED_KEYS = 10_000;

/** `key`: of the caller. `address`: of its unknown keys. */
export type RequestLimit = 'key' | 'address';

interface RequestLimitsOptions {
  /** Of a caller that has no limit of its own. */
  requestsPerSecond: number;
  clock: Clock;
  onLimited(limit: RequestLimit): void;
}

type LimitedCaller = Pick<Caller, 'name' | 'requestsPerSecond'>;

export class RequestLimits {
  readonly #options: RequestLimitsOptions;
  readonly #unknownKeys: TokenBuckets;
  /** By the caller's name, so that a reload of the keys file keeps the buckets. */
  readonly #callers = new Map<string, BucketSize & { bucket: TokenBuckets }>();
  /** Keys with the addresses that have used them, in the order of their last use. */
  readonly #usedKeys = new Set<string>();

  constructor(options: RequestLimitsOptions) {
    this.#options = options;
    this.#unknownKeys = new TokenBuckets(UNKNOWN_KEYS, options.clock);
  }

  /** Counts a request of the caller. Throws a 429 beyond its limit. */
  takeRequest(caller: LimitedCaller): void {
    const bucket = this.#bucketOf(caller);
    if (!bucket || bucket.take()) return;
    this.#options.onLimited('key');
    const detail = 'this key has sent too many requests';
    throw new Problem('request-limit-exceeded', detail, retryAfter(bucket.waitMs()));
  }

  /**
   * Counts an unknown key. Beyond the limit of its address, throws a 429 for each key that the address has not used before,
   * known or not, so that the response to a guess reveals nothing.
   */
  checkKey(address: string, known: HashedKey | undefined): void {
    const network = networkOf(address);
    const used = known && `${known.hash.toString('base64')} ${network}`;
    const waitMs = this.#unknownKeys.waitMs(network);
    if (waitMs > 0 && !(used && this.#usedKeys.has(used))) {
      this.#options.onLimited('address');
      throw tooManyRequests('too many unknown keys from this address', waitMs);
    }
    if (used) this.#remember(used);
    else this.#unknownKeys.take(network);
  }

  /** Forgets the callers that the keys file no longer has. */
  keepOnly(names: readonly string[]): void {
    const kept = new Set(names);
    for (const name of this.#callers.keys()) if (!kept.has(name)) this.#callers.delete(name);
  }

  /** The number of callers and of used keys in memory. */
  get size(): number {
    return this.#callers.size + this.#usedKeys.size;
  }

  /** Undefined if the caller has no limit. */
  #bucketOf({ name, requestsPerSecond }: LimitedCaller): TokenBuckets | undefined {
    const perSecond = requestsPerSecond ?? this.#options.requestsPerSecond;
    if (perSecond === 'any') return undefined;
    const size = { burst: perSecond * BURST_SECONDS, refillMs: 1_000 / perSecond };
    const known = this.#callers.get(name);
    if (known && known.burst === size.burst && known.refillMs === size.refillMs) return known.bucket;
    const bucket = new TokenBuckets(size, this.#options.clock);
    this.#callers.set(name, { ...size, bucket });
    return bucket;
  }

  #remember(used: string): void {
    this.#usedKeys.delete(used);
    this.#usedKeys.add(used);
    const [oldest] = this.#usedKeys;
    if (this.#usedKeys.size > MAX_USED_KEYS && oldest !== undefined) this.#usedKeys.delete(oldest);
  }
}
