import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { OPEN_POINTS_PAGE, openPointsPage } from '../../scripts/write-open-points.ts';
import { OPEN_POINTS } from '../../src/contract/open-points.ts';

test('docs/open-points.md matches the list in the code', () => {
  expect(readFileSync(OPEN_POINTS_PAGE, 'utf8')).toBe(openPointsPage());
});

test('the program reads every setting that the list names', () => {
  const sources = ['config.ts', 'api-config.ts', 'values.ts'].map((file) =>
    readFileSync(new URL(`../../src/config/${file}`, import.meta.url), 'utf8'),
  );
  const named = OPEN_POINTS.flatMap(({ setting }) => setting.match(/(PAYMENTS|PAYOUTS)_[A-Z_]+/g) ?? []);
  expect(named.length).toBeGreaterThan(8);
  for (const name of named) expect(sources.join(' '), name).toContain(name);
});

test('ids are unique, because doctor reports by id', () => {
  expect(new Set(OPEN_POINTS.map(({ id }) => id)).size).toBe(OPEN_POINTS.length);
});
