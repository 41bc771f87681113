/** Pages of a limited caller, over a list whose pages end at any row. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PageRequest } from '../../src/contract/lists.ts';
import { type Page, visiblePage } from '../../src/service/visible-page.ts';

interface Row {
  place: number;
  isVisible: boolean;
}

function listOf(rows: readonly Row[]) {
  const counts = { reads: 0 };
  const read = async ({ cursor, limit = 0 }: PageRequest): Promise<Page<Row>> => {
    counts.reads += 1;
    const from = Number(cursor ?? 0);
    const until = from + limit;
    return { rows: rows.slice(from, until), ...(until < rows.length && { nextCursor: `${until}` }) };
  };
  return { read, counts };
}

const rowsOf = (visible: readonly boolean[]): Row[] =>
  visible.map((isVisible, place) => ({ place, isVisible }));

test('H340 each page is full or the last one, and its cursor is the place of its last row', async () => {
  const list = fc.array(fc.boolean(), { maxLength: 450 });
  const limits = fc.integer({ min: 1, max: 100 });
  await fc.assert(
    fc.asyncProperty(list, limits, async (visible, limit) => {
      const rows = rowsOf(visible);
      const seen: Row[] = [];
      let cursor: string | undefined;
      do {
        const page = await visiblePage({ cursor, limit }, listOf(rows).read, ({ isVisible }) => isVisible);
        seen.push(...page.rows);
        cursor = page.nextCursor;
        if (cursor === undefined) break;
        expect(page.rows).toHaveLength(limit);
        expect(Number(cursor)).toBe((page.rows.at(-1)?.place ?? 0) + 1);
      } while (cursor !== undefined);
      expect(seen).toEqual(rows.filter(({ isVisible }) => isVisible));
    }),
  );
});

test('a page takes few reads, however many rows are hidden', async () => {
  const rows = rowsOf(Array.from({ length: 1_000 }, (_, place) => place === 450 || place === 950));
  const { read, counts } = listOf(rows);
  const page = await visiblePage({ limit: 1 }, read, ({ isVisible }) => isVisible);
  expect(page).toEqual({ rows: [rows[450]], nextCursor: '451' });
  expect(counts.reads).toBe(11);
});
