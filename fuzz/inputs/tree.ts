/** JSON as text: keys may repeat, numbers may have any digits, and leaves may be invalid JSON. */
import { isLosslessNumber } from 'lossless-json';

/** The text of a leaf. */
export interface Leaf {
  raw: string;
}
export interface List {
  items: Tree[];
}
export interface Entry {
  /** The text of the key, quotes included. */
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
  /** The object that contains it, and the position; absent for list items and for the root. */
  member?: { of: Members; at: number };
}

/** Every place, the root first. `holder` holds the root, so that it can be replaced too. */
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
