/** Chance that is the same in each run. */

/** So many entries of the list, in an order that looks like chance. */
export function chosen<T>(list: readonly T[], count: number, seed = 1): T[] {
  const next = mulberry32(seed);
  const drawn = list.map((entry) => ({ entry, lot: next() }));
  drawn.sort((one, two) => one.lot - two.lot);
  return drawn.slice(0, count).map(({ entry }) => entry);
}

/** Numbers in [0, 1). */
export function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
