import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { REASON_CODES } from '../../src/domain/payout.ts';
import { OPENING_REASON_CODES } from '../../src/domain/receiving-account.ts';
import { SAVED_FILTERS } from '../../src/temporal/saved-filters.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

const sources = ['src/domain', 'src/workflows', 'src/workers'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => read(join(folder, name))),
);

/** Why something ended is its result's, and no alert. */
const REASONS: readonly string[] = [...REASON_CODES, ...OPENING_REASON_CODES];

/** The codes by which something asks for a person: `flag('CODE', …)`, `flag(x ? 'CODE' : 'CODE', …)`, `{ code: 'CODE', message }`. */
const raised = new Set(
  sources
    .flatMap((text) => [
      ...[...text.matchAll(/\.flag\(([^;]+);/g)].flatMap(([, first = '']) => quoted(first)),
      ...[...text.matchAll(/\bcode: '([A-Z][A-Z_]+)'/g)].map(([, code = '']) => code),
    ])
    .filter((code) => !REASONS.includes(code)),
);

function quoted(text: string): string[] {
  return [...text.matchAll(/'([A-Z][A-Z_]+)'/g)].map(([, code = '']) => code);
}

/** Rows of three columns whose first holds codes: code, means, do. */
const rows = read('docs/operations.md')
  .split('\n')
  .filter((line) => /^\| `[A-Z]+_?[A-Z_]*`/.test(line))
  .map((line) => {
    const [, codes = '', means = '', todo = ''] = line.split('|').map((cell) => cell.trim());
    return { codes: [...codes.matchAll(/`([A-Z][A-Z_]+)`/g)].map(([, code = '']) => code), means, todo };
  });

describe('docs/operations.md is a runbook for every alert', () => {
  test('the codes are found in the source', () => {
    expect([...raised]).toEqual(
      expect.arrayContaining(['NEEDS_REVIEW', 'DETAIL_DISAGREES', 'AWAITING_MATERIAL', 'REFRESH_REFUSED']),
    );
  });

  test.each([...raised])('%s says what it means and what to do', (code) => {
    const row = rows.find(({ codes }) => codes.includes(code));
    expect(row?.means).toBeTruthy();
    expect(row?.todo).toBeTruthy();
  });

  test('the codes by which a workflow of ours speaks in its details stand in the text', () => {
    const told = sources.flatMap((text) => [...text.matchAll(/⚠ ([A-Z][A-Z_]+)\b/g)].map(([, code]) => code));
    expect(told).toContain('LEFT_ALONE');
    const page = read('docs/operations.md');
    expect(told.filter((code) => !page.includes(`\`${code}\``))).toEqual([]);
  });

  test('no code is explained that nothing raises any more', () => {
    const all = sources.join('\n');
    const gone = rows.flatMap(({ codes }) => codes).filter((code) => !new RegExp(`\\b${code}\\b`).test(all));
    // Settings stand in tables too.
    expect(gone.filter((name) => !/^(PAYOUTS|PAYMENTS|TEMPORAL)_/.test(name))).toEqual([]);
  });

  test('every command that it tells to type is a verb of the command line', () => {
    const commandLine = readdirSync(join(ROOT, 'src/starters/cli'))
      .filter((name) => name.endsWith('.ts'))
      .map((name) => read(join('src/starters/cli', name)))
      .join('\n');
    const verbs = new Set(
      [...commandLine.matchAll(/(?:command\(|\bverb[^(\n]*\(\s*)'([a-z]+)/g)].map(([, verb]) => verb),
    );
    const typed = [...read('docs/operations.md').matchAll(/npm run payouts -- ([a-z]+)/g)].map(
      ([, verb]) => verb,
    );
    expect(typed.length).toBeGreaterThan(10);
    expect(typed.filter((verb) => !verbs.has(verb))).toEqual([]);
  });
});

describe('docs/temporal-ui.md', () => {
  const page = read('docs/temporal-ui.md');

  test.each(SAVED_FILTERS)('holds the filter "$name" as it is', ({ name, question, query }) => {
    const line = page.split('\n').find((row) => row.startsWith(`| ${name} `));
    expect(line).toContain(question);
    expect(line).toContain(`\`${query}\``);
  });

  test('every picture that it shows is there, and none is there that it does not show', () => {
    const shown = [...page.matchAll(/!\[[^\]]+\]\(ui\/([\w-]+\.png)\)/g)].map(([, file]) => file);
    expect(shown.sort()).toEqual(readdirSync(join(ROOT, 'docs/ui')).sort());
  });
});
