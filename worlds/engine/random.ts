/** The only source of randomness, so that a seed repeats a world. */
import type { Random as Randomness } from '../../src/runtime/runtime.ts';

export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** At least 0, less than 1 (mulberry32). */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Draws no number if the result is certain, so that disabling a fault does not change the others. */
  chance(probability: number): boolean {
    return probability > 0 && (probability >= 1 || this.next() < probability);
  }

  between(low: number, high: number): number {
    return low + this.next() * (high - low);
  }

  pick<T>(from: readonly T[]): T | undefined {
    return from[Math.floor(this.next() * from.length)];
  }

  uuid(): string {
    const word = () => ((this.next() * 2 ** 32) >>> 0).toString(16).padStart(8, '0');
    const hex = word() + word() + word() + word();
    const parts = [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`];
    return [...parts, hex.slice(20)].join('-');
  }
}

export function randomness(random: Random): Randomness {
  return {
    number: () => random.next(),
    bytes: (length) => Uint8Array.from({ length }, () => Math.floor(random.next() * 256)),
    uuid: () => random.uuid(),
  };
}
