/** Seeded randomness: the same numbers on every machine and in every run. */

/** Numbers in [0, 1). */
export type Random = () => number;

/** Mulberry32. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** FNV-1a: a seed per name, so that draws for one order do not depend on calls about others. */
export function seedOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

export function chance(random: Random, probability: number): boolean {
  return random() < probability;
}

/** An integer from `least` to `most`, both included. */
export function whole(random: Random, least: number, most: number): number {
  return least + Math.floor(random() * (most - least + 1));
}

export function pick<T>(random: Random, list: readonly [T, ...T[]]): T;
export function pick<T>(random: Random, list: readonly T[]): T | undefined;
export function pick<T>(random: Random, list: readonly T[]): T | undefined {
  return list[Math.floor(random() * list.length)];
}

/** Picks a name with a probability proportional to its weight. */
export function pickWeighted<Name extends string>(
  random: Random,
  weights: readonly (readonly [Name, number])[],
): Name {
  let at = random() * weights.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [name, weight] of weights) {
    at -= weight;
    if (at < 0) return name;
  }
  throw new Error('there is nothing to pick from');
}
