/** Limits failed sign-ins of each address by a token bucket: a burst of ten, then one in six seconds. */
import { isIPv6 } from 'node:net';
import type { Clock } from '../surroundings/surroundings.ts';

const BURST = 10;
const REFILL_MS = 6_000;
const FULL_AFTER_MS = BURST * REFILL_MS;
const MAX_ADDRESSES = 10_000;
const MAX_ADDRESS_LENGTH = 64;

interface Bucket {
  left: number;
  atMs: number;
}

export class FailedSignIns {
  readonly #clock: Clock;
  /** The addresses whose bucket is not full, in the order of their last failure. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How long the address must wait until its next attempt, in milliseconds. */
  waitMs(address: string): number {
    const { left } = this.#bucket(networkOf(address));
    return left >= 1 ? 0 : Math.ceil((1 - left) * REFILL_MS);
  }

  add(address: string): void {
    const network = networkOf(address);
    const bucket = this.#bucket(network);
    this.#buckets.delete(network);
    this.#buckets.set(network, { ...bucket, left: Math.max(0, bucket.left - 1) });
    for (const [oldest, { atMs }] of this.#buckets) {
      if (this.#buckets.size <= MAX_ADDRESSES && atMs + FULL_AFTER_MS > bucket.atMs) break;
      this.#buckets.delete(oldest);
    }
  }

  get size(): number {
    return this.#buckets.size;
  }

  #bucket(network: string): Bucket {
    const nowMs = this.#clock.nowMs();
    const { left, atMs } = this.#buckets.get(network) ?? { left: BURST, atMs: nowMs };
    return { left: Math.min(BURST, left + (nowMs - atMs) / REFILL_MS), atMs: nowMs };
  }
}

/** One host usually has a whole /64 of IPv6. */
function networkOf(address: string): string {
  if (!isIPv6(address)) return address.slice(0, MAX_ADDRESS_LENGTH);
  const [, mapped] = /^::ffff:([\d.]+)$/i.exec(address) ?? [];
  if (mapped !== undefined) return mapped;
  const [head = '', tail = ''] = address.split('::').map((part) => part.split(':').filter(Boolean));
  const zeros = Array<string>(Math.max(0, 8 - head.length - tail.length)).fill('0');
  return [...head, ...zeros, ...tail]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}
