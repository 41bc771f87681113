import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readFigures } from '../../bench/figures.ts';
import { plotFiles } from '../../bench/plots/plots.ts';
import { BENCH_FOLDER, BENCHMARKS_PAGE, FIGURES_FILE, withTables } from '../../bench/plots/write.ts';

test('docs/benchmarks.md and its plots show the committed figures', () => {
  const figures = readFigures(FIGURES_FILE);
  const plots = plotFiles(figures);
  expect(readdirSync(BENCH_FOLDER).sort()).toEqual([...Object.keys(plots), 'figures.json'].sort());
  for (const [name, svg] of Object.entries(plots))
    expect(readFileSync(join(BENCH_FOLDER, name), 'utf8')).toBe(svg);
  const page = readFileSync(BENCHMARKS_PAGE, 'utf8');
  expect(withTables(page, figures)).toBe(page);
  for (const [, plot] of page.matchAll(/\]\(bench\/([\w-]+\.svg)\)/g))
    expect(Object.keys(plots)).toContain(plot);
});
