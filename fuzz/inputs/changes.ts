/** Changes to a valid document: first to its content, then to its bytes. */
import fc from 'fast-check';
import { DEPTHS, LENGTHS, ODD_KEYS, ODD_NUMBERS, ODD_TEXTS, ODD_VALUES } from './odd.ts';
import { type Place, placesIn, type Tree, written } from './tree.ts';

/** `at` selects the place and `pick` the variant, each modulo the number of choices. */
export interface Change {
  kind: number;
  at: number;
  pick: number;
}

const MANY = 997;

export const changes = (most: number): fc.Arbitrary<Change[]> =>
  fc.array(fc.record({ kind: fc.nat(MANY), at: fc.nat(MANY), pick: fc.nat(MANY) }), { maxLength: most });

/** The element at `index` modulo the length. */
export function chosen<T>(list: readonly T[], index: number): T {
  const one = list[index % list.length];
  if (one === undefined) throw new RangeError('nothing to choose from');
  return one;
}

type TreeChange = (place: Place, pick: number, places: readonly Place[]) => void;

const leaf = (raw: string): Tree => ({ raw });
const replacedBy =
  (list: readonly string[]): TreeChange =>
  ({ put }, pick) =>
    put(leaf(chosen(list, pick)));

const TREE_CHANGES: readonly TreeChange[] = [
  drop,
  replacedBy(ODD_VALUES),
  replacedBy(ODD_TEXTS),
  replacedBy(ODD_TEXTS),
  replacedBy(ODD_NUMBERS),
  replacedBy(ODD_NUMBERS),
  twice,
  rename,
  add,
  stretch,
  stretch,
  (place, pick) => place.put(nested(place.tree, chosen(DEPTHS, pick), pick % 2 === 0)),
  // As text, so that no tree contains itself.
  (place, pick, places) => place.put(leaf(written(chosen(places, pick).tree))),
  quoted,
  escaped,
];

/** The changed document as text. Modifies `tree`. */
export function changedText(tree: Tree, list: readonly Change[]): string {
  const holder = { tree };
  for (const { kind, at, pick } of list) {
    const places = placesIn(holder);
    chosen(TREE_CHANGES, kind)(chosen(places, at), pick, places);
  }
  return written(holder.tree);
}

function drop({ member, put }: Place): void {
  if (member) member.of.entries.splice(member.at, 1);
  else put(leaf('null'));
}

/** Repeats the key with the same or another value, which two parsers may read differently. */
function twice({ member, tree, put }: Place, pick: number): void {
  const entry = member?.of.entries[member.at];
  if (!member || !entry) {
    put({ items: [tree, leaf(written(tree))] });
    return;
  }
  const value = pick % 3 === 0 ? leaf(written(tree)) : leaf(chosen(ODD_TEXTS, pick));
  member.of.entries.splice(pick % 2 === 0 ? member.at : member.of.entries.length, 0, {
    key: entry.key,
    value,
  });
}

function rename({ member }: Place, pick: number): void {
  const entry = member?.of.entries[member.at];
  if (entry) entry.key = chosen(ODD_KEYS, pick);
}

function add({ member, tree }: Place, pick: number): void {
  const entry = { key: chosen(ODD_KEYS, pick), value: leaf(chosen(ODD_VALUES, pick)) };
  if ('entries' in tree) tree.entries.push(entry);
  else member?.of.entries.push(entry);
}

function stretch({ put }: Place, pick: number): void {
  const filler = chosen(['x', '9', '中', '😀', ' '], pick);
  put(leaf(JSON.stringify(filler.repeat(Math.ceil(chosen(LENGTHS, pick) / filler.length)))));
}

function nested(tree: Tree, depth: number, asList: boolean): Tree {
  const [open, close] = asList ? ['[', ']'] : ['{"a":', '}'];
  return leaf(open.repeat(depth) + written(tree) + close.repeat(depth));
}

/** Turns a number into text, and text into its content without quotes. */
function quoted({ tree, put }: Place): void {
  const text = written(tree);
  put(leaf(/^"[^"\\]*"$/.test(text) ? text.slice(1, -1) : JSON.stringify(text)));
}

/** The same text in another spelling. */
function escaped({ tree, put }: Place): void {
  const text = written(tree);
  if (!/^"[^"\\]*"$/.test(text)) return;
  const units = text.slice(1, -1).split('');
  put(leaf(`"${units.map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`));
}

type ByteChange = (bytes: Buffer, at: number, pick: number) => Buffer;

const SLIPPED_IN: readonly Buffer[] = [
  ...['\n', ' ', '\t', '\u0000', ',', '"', '\\', '{', '}', '[', ']', ':', '/**/', '\ufeff', '\u00a0'].map(
    (text) => Buffer.from(text),
  ),
  // Invalid UTF-8: a lone byte, an overlong form, half a pair, and an incomplete character.
  ...['ff', 'c080', 'eda080', 'f09f98'].map((hex) => Buffer.from(hex, 'hex')),
];

const BYTE_CHANGES: readonly ByteChange[] = [
  (bytes, at, pick) => {
    const bent = Buffer.from(bytes);
    if (bent.length > 0) bent[at % bent.length] = (bent[at % bent.length] ?? 0) ^ (1 << (pick % 8));
    return bent;
  },
  (bytes, at) => bytes.subarray(0, at % (bytes.length + 1)),
  (bytes, at) => bytes.subarray(at % (bytes.length + 1)),
  (bytes, at, pick) => {
    const where = at % (bytes.length + 1);
    return Buffer.concat([bytes.subarray(0, where), chosen(SLIPPED_IN, pick), bytes.subarray(where)]);
  },
  (bytes, at, pick) => {
    const where = at % (bytes.length + 1);
    return Buffer.concat([bytes.subarray(0, where), bytes.subarray(where + 1 + (pick % 8))]);
  },
  (bytes) => Buffer.concat([Buffer.from('\ufeff'), bytes]),
  (bytes) => Buffer.from(bytes.toString('utf8'), 'utf16le'),
  (bytes) => Buffer.from(bytes.toString('utf8'), 'latin1'),
  (bytes, _at, pick) => Buffer.concat(Array.from({ length: 2 + (pick % 3) }, () => bytes)),
];

export function changedBytes(bytes: Buffer, list: readonly Change[]): Buffer {
  return list.reduce((so, { kind, at, pick }) => chosen(BYTE_CHANGES, kind)(so, at, pick), bytes);
}
