/** Reproducible randomness. */

/** A pseudo-random sample of the list, in pseudo-random order. */
export function sample<T>(list: readonly T[], count: number, seed = 1): T[] {
  const next = mulberry32(seed);
  const drawn = list.map((entry) => ({ entry, lot: next() }));
  drawn.sort((one, two) => one.lot - two.lot);
  return drawn.slice(0, count).map(({ entry }) => entry);
}

/** Returns a generator of numbers in [0, 1). */
export function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
