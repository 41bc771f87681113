import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { KILLS } from '../../chaos/kills/kills.ts';
import { longestPause } from '../../chaos/kills/measure.ts';
import { KILL_TABLE_PAGE, killTablePage, problemsOf, readFigures } from '../../chaos/kills/run-kills.ts';

test('docs/kill-table.md has the measured figures, a row for each kill', () => {
  expect(readFileSync(KILL_TABLE_PAGE, 'utf8')).toBe(killTablePage());
  expect(readFigures().rows.map(({ name }) => name)).toEqual(KILLS.map(({ name }) => name));
});

test('no payout was lost, paid twice or reported wrongly', () => {
  for (const row of readFigures().rows) if (!('skipped' in row)) expect(problemsOf(row)).toEqual([]);
});

test.each([
  [
    'between two creates',
    [0, 1_000, 9_000, 10_000],
    1_500,
    20_000,
    { pauseMs: 10_000, goesOnAfterMs: 18_500 },
  ],
  ['that spans the kill', [1_000, 6_000, 7_000], 2_000, 7_000, { pauseMs: 5_000, goesOnAfterMs: 4_000 }],
  ['until the end', [1_000], 2_000, 12_000, { pauseMs: 11_000, goesOnAfterMs: 10_000 }],
  [
    'before the kill, which does not count',
    [0, 9_000, 10_000],
    9_500,
    10_500,
    { pauseMs: 1_000, goesOnAfterMs: 500 },
  ],
])('finds the longest pause %s', (_which, creates, killed, stopped, pause) => {
  expect(longestPause(creates, killed, stopped)).toEqual(pause);
});
