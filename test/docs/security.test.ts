/** docs/security.md: every risk of the OWASP API Security Top Ten (2023) names tests that exist. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const page = readFileSync(join(ROOT, 'docs/security.md'), 'utf8');

const rows = page
  .split('\n')
  .filter((line) => /^\| API\d+ /.test(line))
  .map((line) => {
    const [, risk = '', answer = '', shownBy = ''] = line.split('|').map((cell) => cell.trim());
    const tests = [...shownBy.matchAll(/`(test\/[\w/.-]+\.test\.ts)`: "([^"]+)"/g)];
    return { risk, answer, shownBy, tests: tests.map(([, file = '', title = '']) => ({ file, title })) };
  });

test('has one row for each of the ten risks', () => {
  expect(rows.map(({ risk }) => risk.split(' ')[0])).toEqual(
    Array.from({ length: 10 }, (_, at) => `API${at + 1}`),
  );
});

describe.each(rows)('$risk', ({ answer, shownBy, tests }) => {
  test('says what the product does, and names a test for it', () => {
    expect(answer).not.toBe('');
    expect(tests.length).toBeGreaterThan(0);
    expect(tests.length, 'every file is followed by a title').toBe(shownBy.split('`test/').length - 1);
  });

  test.each(tests)('$file has the test "$title"', ({ file, title }) => {
    expect(existsSync(join(ROOT, file))).toBe(true);
    const text = readFileSync(join(ROOT, file), 'utf8');
    const quoted = [`'${title}'`, `"${title}"`, `\`${title}\``];
    expect(quoted.filter((each) => text.includes(each))).toHaveLength(1);
  });
});

test('names what is open', () => {
  const [, open = ''] = page.split('## Not covered');
  for (const known of ['[Daily limits]', 'Names outside the HTTP API', '[Request limits]'])
    expect(open).toContain(known);
});
