import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

interface Row {
  id: string;
  what: string;
  shownBy: string;
}

const rows: Row[] = readFileSync(join(ROOT, 'docs/hazards.md'), 'utf8')
  .split('\n')
  .filter((line) => /^\| H\d+ /.test(line))
  .map((line) => {
    const [, id = '', , what = '', shownBy = ''] = line.split('|').map((cell) => cell.trim());
    return { id, what, shownBy };
  });

/** The hazard ids in the titles of tests, with the test files. */
const titles = new Map<string, Set<string>>();
for (const name of readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })) {
  if (!name.endsWith('.test.ts') || name.startsWith('docs')) continue;
  const text = readFileSync(join(ROOT, 'test', name), 'utf8');
  for (const [, title = ''] of text.matchAll(/\b(?:test|it|describe)[^'`"\n]*\(?\s*['`"]([^\n]*)/g))
    for (const [id] of title.matchAll(/\bH\d+\b/g))
      titles.set(id, (titles.get(id) ?? new Set()).add(`test/${name}`));
}

describe('docs/hazards.md matches the tests', () => {
  test('every hazard from H1 to H62 has a row', () => {
    const ids = rows.map(({ id }) => id);
    expect(Array.from({ length: 62 }, (_, at) => `H${at + 1}`).filter((id) => !ids.includes(id))).toEqual([]);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test.each(rows)('$id is planned, or shown by a test whose title has the id', ({ id, what, shownBy }) => {
    if (shownBy === '') return expect(what).toMatch(/[*_]planned[*_]/i);
    expect(existsSync(join(ROOT, shownBy))).toBe(true);
    expect([...(titles.get(id) ?? [])]).toContain(shownBy);
  });

  test('no title has an id that is not on the page', () => {
    const known = new Set(rows.map(({ id }) => id));
    expect([...titles.keys()].filter((id) => !known.has(id))).toEqual([]);
  });
});
