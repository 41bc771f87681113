/** One input from one seed, so that each input of a campaign is reproducible alone. */
import fc from 'fast-check';

/** fast-check's bias: one in this many values is small or at the edge of its range. */
const BIAS = 3;

/** The input of `seed`, with the context for shrinking. */
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

/** Mulberry32. fast-check's own generator package is not a direct dependency. */
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
