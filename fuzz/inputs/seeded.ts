/** One input from one seed, so that any input of a campaign can be made again alone. */
import fc from 'fast-check';

/** How often fast-check prefers small values and those at the edge of their range: one time in so many. */
const BIAS = 3;

/** The input of `seed`, which knows how it can be made smaller. */
export function inputOf<I>(inputs: fc.Arbitrary<I>, seed: number): fc.Value<I> {
  return inputs.generate(new fc.Random(generatorOf(seed)), BIAS);
}

interface Generator {
  next(): number;
  clone(): Generator;
  getState(): readonly number[];
}

function generatorOf(seed: number): Generator {
  return generatorFrom(Math.imul(seed, 0x9e3779b1) >>> 0);
}

/** Mulberry32. The one that fast-check brings along is no dependency of ours. */
function generatorFrom(start: number): Generator {
  let state = start;
  return {
    next() {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return (mixed ^ (mixed >>> 14)) | 0;
    },
    clone: () => generatorFrom(state),
    getState: () => [state],
  };
}
