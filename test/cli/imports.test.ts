import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const MAIN = join(import.meta.dirname, '../../src/starters/cli/main.ts');
/** Imports and re-exports that are loaded with their module. Types are not loaded. */
const LOADED = /^(?:import|export) (?!type )[^;]*?from '([^']+)'/gm;

/** The packages that `file` and the sources it imports load before anything runs. */
function packagesOf(file: string, seen = new Set<string>()): string[] {
  if (seen.has(file)) return [];
  seen.add(file);
  const names = [...readFileSync(file, 'utf8').matchAll(LOADED)].map(([, name = '']) => name);
  return names.flatMap((name) =>
    name.startsWith('.') ? packagesOf(join(dirname(file), name), seen) : name.startsWith('node:') ? [] : name,
  );
}

test('help and bad arguments load neither the Temporal client nor schemas', () => {
  expect([...new Set(packagesOf(MAIN))].sort()).toEqual([
    '@commander-js/extra-typings',
    'cli-table3',
    'picocolors',
  ]);
});

test('a bad file is reported by the schemas alone', () => {
  const check = join(dirname(MAIN), 'files.ts');
  expect([...new Set(packagesOf(check))].sort()).toEqual(['lossless-json', 'zod']);
  expect([...new Set(packagesOf(join(dirname(MAIN), '../../client/checked-batch.ts')))]).toEqual(['zod']);
});
