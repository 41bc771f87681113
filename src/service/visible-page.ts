/** Lists for a limited caller, which learns nothing about rows outside of its scope. */
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, type PageRequest } from '../contract/lists.ts';

export interface Page<Row> {
  rows: Row[];
  nextCursor?: string;
}

/**
 * A page is full if there is another, and its cursor is that of its last row: otherwise, either would tell how many hidden
 * rows match the filter, and when (H340).
 */
export async function visiblePage<Row>(
  { cursor: from, limit = DEFAULT_PAGE_SIZE }: PageRequest,
  read: (page: PageRequest) => Promise<Page<Row>>,
  isVisible: (row: Row) => boolean,
): Promise<Page<Row>> {
  const found: Row[] = [];
  for (let cursor = from; ; ) {
    const { rows, nextCursor } = await read({ cursor, limit: MAX_PAGE_SIZE });
    const room = limit - found.length;
    const places = rows.flatMap((row, place) => (isVisible(row) ? [place] : []));
    const last = places[room - 1];
    const hasMore =
      places.length > room || (last !== undefined && (await hasVisible(nextCursor, read, isVisible)));
    if (last !== undefined && hasMore) {
      // Only Temporal can name the place of a row.
      const page = await read({ cursor, limit: last + 1 });
      found.push(...page.rows.filter(isVisible));
      // `read` may leave rows out, and new ones may come between two reads.
      if (found.length >= limit || page.nextCursor === undefined) return { ...page, rows: found };
      cursor = page.nextCursor;
      continue;
    }
    found.push(...rows.filter(isVisible));
    if (last !== undefined || nextCursor === undefined) return { rows: found };
    cursor = nextCursor;
  }
}

async function hasVisible<Row>(
  from: string | undefined,
  read: (page: PageRequest) => Promise<Page<Row>>,
  isVisible: (row: Row) => boolean,
): Promise<boolean> {
  for (let cursor = from; cursor !== undefined; ) {
    const { rows, nextCursor } = await read({ cursor, limit: MAX_PAGE_SIZE });
    if (rows.some(isVisible)) return true;
    cursor = nextCursor;
  }
  return false;
}
