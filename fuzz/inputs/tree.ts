/** JSON as it is written: a key may stand twice, a number may have any digits, and a leaf may be no JSON at all. */
import { isLosslessNumber } from 'lossless-json';

/** What is written for a leaf, as it stands in the text. */
export interface Leaf {
  raw: string;
}
export interface List {
  items: Tree[];
}
export interface Entry {
  /** As it stands in the text, quotes included. */
  key: string;
  value: Tree;
}
export interface Members {
  entries: Entry[];
}
export type Tree = Leaf | List | Members;

export function treeOf(value: unknown): Tree {
  if (isLosslessNumber(value)) return { raw: value.value };
  if (Array.isArray(value)) return { items: value.map(treeOf) };
  if (typeof value !== 'object' || value === null) return { raw: JSON.stringify(value) ?? 'null' };
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  return { entries: entries.map(([key, inner]) => ({ key: JSON.stringify(key), value: treeOf(inner) })) };
}

export function written(tree: Tree): string {
  if ('raw' in tree) return tree.raw;
  if ('items' in tree) return `[${tree.items.map(written).join(',')}]`;
  return `{${tree.entries.map(({ key, value }) => `${key}:${written(value)}`).join(',')}}`;
}

/** A place in a tree whose content can be replaced. */
export interface Place {
  tree: Tree;
  put(tree: Tree): void;
  /** The object in which it stands, and where; absent for items of lists and for the whole. */
  member?: { of: Members; at: number };
}

/** Every place, the whole first. `holder` keeps the whole, which can be replaced too. */
export function placesIn(holder: { tree: Tree }): Place[] {
  const places: Place[] = [
    {
      tree: holder.tree,
      put: (tree) => {
        holder.tree = tree;
      },
    },
  ];
  collect(holder.tree, places);
  return places;
}

function collect(tree: Tree, places: Place[]): void {
  if ('items' in tree)
    for (const [at, item] of tree.items.entries()) {
      places.push({
        tree: item,
        put: (other) => {
          tree.items[at] = other;
        },
      });
      collect(item, places);
    }
  if ('entries' in tree)
    for (const [at, entry] of tree.entries.entries()) {
      places.push({
        tree: entry.value,
        put: (other) => {
          entry.value = other;
        },
        member: { of: tree, at },
      });
      collect(entry.value, places);
    }
}
