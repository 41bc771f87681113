/** Incoming documents: valid, changed, arbitrary JSON, arbitrary bytes. */
import fc from 'fast-check';
import { type Random, seededRandom } from '../../simulator/runtime.ts';
import { changedBytes, changedText, changes } from './changes.ts';
import { treeOf } from './tree.ts';

/** The randomness of a seed, as simulator/answers uses it. */
export const randoms: fc.Arbitrary<number> = fc.nat(0x7fffffff);

/** `valid` draws a document; most results are that document with a few changes. */
export function documents<T>(valid: (random: Random, about: T) => unknown, about: fc.Arbitrary<T>) {
  return fc.oneof(
    { weight: 12, arbitrary: changedDocuments(valid, about) },
    {
      weight: 1,
      arbitrary: fc.record({ about, bytes: fc.json({ maxDepth: 3 }).map((text) => Buffer.from(text)) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        about,
        bytes: fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
      }),
    },
  );
}

function changedDocuments<T>(valid: (random: Random, about: T) => unknown, about: fc.Arbitrary<T>) {
  return fc
    .tuple(about, randoms, changes(3), fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, changes(2)))
    .map(([which, seed, said, spelt]) => {
      const text = changedText(treeOf(valid(seededRandom(seed), which)), said);
      return { about: which, bytes: changedBytes(Buffer.from(text), spelt) };
    });
}

const MOST_SHOWN = 2_000;

/** A readable form on one line. */
export function shown(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes);
  const isText = Buffer.from(buffer.toString('utf8'), 'utf8').equals(buffer);
  const text = isText ? JSON.stringify(buffer.toString('utf8')) : `hex ${buffer.toString('hex')}`;
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}… (${buffer.length} bytes)` : text;
}
