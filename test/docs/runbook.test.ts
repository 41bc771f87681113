import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { SAVED_FILTERS } from '../../demo/screenshots/saved-filters.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

describe.each(['docs/operations.md', 'docs/alerts.md'])('%s', (path) => {
  test('every command on the page is a command of the command line', () => {
    const commandLine = readdirSync(join(ROOT, 'src/starters/cli'))
      .filter((name) => name.endsWith('.ts'))
      .map((name) => read(join('src/starters/cli', name)))
      .join('\n');
    const verbs = new Set(
      [...commandLine.matchAll(/\b(?:command|decision)\(\s*(?:\w+,\s*)?'([a-z]+)/g)].map(([, verb]) => verb),
    );
    const typed = [...read(path).matchAll(/(?:`|^ *|\$ )payouts ([a-z]+)/gm)].map(([, verb]) => verb);
    expect(typed.length).toBeGreaterThan(10);
    expect(typed.filter((verb) => !verbs.has(verb))).toEqual([]);
  });

  test('no command or query names an environment', () => {
    expect(read(path)).not.toMatch(/:production\b/);
  });
});

describe('docs/temporal-ui.md', () => {
  const page = read('docs/temporal-ui.md');

  test.each(SAVED_FILTERS)('contains the filter "$name" unchanged', ({ name, query }) => {
    const line = page.split('\n').find((row) => row.startsWith(`| ${name} `));
    expect(line).toContain(`\`${query}\``);
  });
});

test.each([
  ['docs/desk.md', (file: string) => file.startsWith('desk-')],
  ['docs/temporal-ui.md', (file: string) => !file.startsWith('desk-')],
])('%s shows exactly its pictures in docs/ui', (path, isOfPage) => {
  const shown = [...read(path).matchAll(/!\[[^\]]+\]\(ui\/([\w-]+\.png)\)/g)].map(([, file]) => file);
  expect(shown.sort()).toEqual(readdirSync(join(ROOT, 'docs/ui')).filter(isOfPage).sort());
});
