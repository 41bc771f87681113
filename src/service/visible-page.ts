/** Lists for a limited caller, which learns nothing about rows outside of its scope. */
import type { Caller } from '../config/callers.ts';
import { compact } from '../contract/compact.ts';
import type { ListedPayout, PageRequest } from '../contract/lists.ts';
import { isScoped } from '../domain/permissions.ts';
import { inParallel } from '../runtime/runtime.ts';
import { isRowWithinScope, isWithinScope } from './permissions.ts';

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
