import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { OPEN_POINTS } from '../../src/contract/open-points.ts';

const page = readFileSync(new URL('../../docs/open-points.md', import.meta.url), 'utf8');

test('docs/open-points.md explains each point, with its settings', () => {
  const sections = page.split('\n## ').slice(1);
  expect(sections.map((section) => section.split('\n')[0])).toEqual(OPEN_POINTS.map(({ id }) => id));
  for (const [at, { setting }] of OPEN_POINTS.entries())
    for (const one of setting?.split(', ') ?? []) expect(sections[at]).toContain(`\`${one}\``);
});

test('the program reads every setting that the list names', () => {
  const sources = ['config.ts', 'api-config.ts', 'values.ts'].map((file) =>
    readFileSync(new URL(`../../src/config/${file}`, import.meta.url), 'utf8'),
  );
  const named = OPEN_POINTS.flatMap(({ setting }) => setting?.match(/(PAYMENTS|PAYOUTS)_[A-Z_]+/g) ?? []);
  expect(named.length).toBeGreaterThan(8);
  for (const name of named) expect(sources.join(' '), name).toContain(name);
});

test('ids are unique, because doctor reports by id', () => {
  expect(new Set(OPEN_POINTS.map(({ id }) => id)).size).toBe(OPEN_POINTS.length);
});
