/** Lists for a limited caller, which learns nothing about rows outside of its scope. */
import type { Caller } from '../config/callers.ts';
import { compact } from '../contract/compact.ts';
import { DEFAULT_PAGE_SIZE, type ListedPayout, MAX_PAGE_SIZE, type PageRequest } from '../contract/lists.ts';
import { isScoped } from '../domain/permissions.ts';
import { inParallel } from '../runtime/runtime.ts';
import { isRowWithinScope, isWithinScope } from './permissions.ts';

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

/**
 * Those of the rows that the caller may see, even one who cannot list. Lists don't know the user of a payout, and those of
 * other programs may lack more: `read` rejects if the payout itself says that it is outside of the scope.
 */
export async function visibleRows(
  caller: Caller,
  rows: readonly ListedPayout[],
  read: (row: ListedPayout) => Promise<unknown>,
): Promise<ListedPayout[]> {
  if (!isScoped(caller)) return [...rows];
  const seen = await inParallel(rows, async (row) => {
    const { clientId, payerId, partnerOrderId } = row;
    if (!isWithinScope(caller, compact({ clientId, payerId, partnerOrderId }))) return [];
    if (caller.openIds === undefined && isRowWithinScope(caller, row)) return [row];
    return read(row).then(
      () => [row],
      () => [],
    );
  });
  return seen.flat();
}
