/** Rows as `add` takes them: so many, and so many bytes, at once. */
import { MAX_ROWS_PER_ADD, type RowRange } from '../domain/batch.ts';

/** The engine takes 2 MB in one payload, and warns from 512 KiB on; 500 ordinary rows are some 350 kB. */
const MOST_BYTES_AT_ONCE = 500_000;

export interface RowSlice<T> {
  offset: number;
  payouts: T[];
}

export function slicesOf<T>(rows: readonly T[], { offset, count }: RowRange): RowSlice<T>[] {
  const slices: RowSlice<T>[] = [];
  let bytes = 0;
  for (const [at, row] of rows.slice(offset, offset + count).entries()) {
    const size = Buffer.byteLength(JSON.stringify(row)) + 1;
    const last = slices.at(-1);
    if (last && last.payouts.length < MAX_ROWS_PER_ADD && bytes + size <= MOST_BYTES_AT_ONCE) {
      last.payouts.push(row);
      bytes += size;
    } else {
      slices.push({ offset: offset + at, payouts: [row] });
      bytes = size;
    }
  }
  return slices;
}
