/** JSON arrays as NDJSON. */
import { readExactJson } from '../../src/payments/exact-json.ts';
import { treeOf, written } from './tree.ts';

/** The rows of a JSON array, or of the `payouts` of an object, one per line. Anything else is returned unchanged. */
export function asLines(bytes: Buffer): Buffer {
  const rows = rowsIn(bytes);
  return Array.isArray(rows) ? Buffer.from(rows.map((row) => written(treeOf(row))).join('\n')) : bytes;
}

function rowsIn(bytes: Buffer): unknown {
  try {
    const read = readExactJson(bytes);
    return typeof read === 'object' && read !== null && 'payouts' in read ? read.payouts : read;
  } catch {
    return undefined;
  }
}
