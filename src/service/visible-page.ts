/** A page of a list for a limited caller, which learns nothing about rows outside of its scope. */
import type { PageRequest } from '../contract/lists.ts';

export interface Page<Row> {
  rows: Row[];
  nextCursor?: string;
}

/**
 * Reads on to the next row that is visible: an empty page with a cursor, and a cursor without another such row, would tell
 * that the filter matches hidden ones (H340).
 */
export async function visiblePage<Row>(
  page: PageRequest,
  read: (page: PageRequest) => Promise<Page<Row>>,
  isVisible: (row: Row) => boolean,
): Promise<Page<Row>> {
  for (let { cursor } = page; ; ) {
    const { rows, nextCursor } = await read({ ...page, cursor });
    const visible = rows.filter(isVisible);
    if (visible.length > 0 || nextCursor === undefined) {
      const hasMore = await hasVisible(nextCursor, read, isVisible);
      return { rows: visible, ...(nextCursor !== undefined && hasMore && { nextCursor }) };
    }
    cursor = nextCursor;
  }
}

async function hasVisible<Row>(
  from: string | undefined,
  read: (page: PageRequest) => Promise<Page<Row>>,
  isVisible: (row: Row) => boolean,
): Promise<boolean> {
  for (let cursor = from; cursor !== undefined; ) {
    const { rows, nextCursor } = await read({ cursor });
    if (rows.some(isVisible)) return true;
    cursor = nextCursor;
  }
  return false;
}
