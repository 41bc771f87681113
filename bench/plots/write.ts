/** `npm run bench -- --plots FILE`: writes the figures, their plots and their tables into docs/. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Figures, figuresText } from '../figures.ts';
import { plotFiles } from './plots.ts';
import { tables } from './table.ts';

const DOCS = join(import.meta.dirname, '../../docs');
export const BENCH_FOLDER = join(DOCS, 'bench');
export const FIGURES_FILE = join(BENCH_FOLDER, 'figures.json');
export const BENCHMARKS_PAGE = join(DOCS, 'benchmarks.md');

const BEGIN = '<!-- generated from docs/bench/figures.json by `npm run bench -- --plots FILE` -->';
const END = '<!-- end of the generated part -->';

export function writeDocs(figures: Figures): void {
  mkdirSync(BENCH_FOLDER, { recursive: true });
  writeFileSync(FIGURES_FILE, figuresText(figures));
  for (const [name, svg] of Object.entries(plotFiles(figures))) writeFileSync(join(BENCH_FOLDER, name), svg);
  writeFileSync(BENCHMARKS_PAGE, withTables(readFileSync(BENCHMARKS_PAGE, 'utf8'), figures));
}

/** The page with regenerated tables; everything else stays unchanged. */
export function withTables(page: string, figures: Figures): string {
  const [before, rest] = page.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined)
    throw new Error('the page has no markers for the generated part');
  return `${before}${BEGIN}\n\n${tables(figures)}\n\n${END}${after}`;
}
