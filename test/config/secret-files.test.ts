/** One name for each secret: wherever a setting names a file, the file has the name of the variable. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const PLACES = ['.env.example', 'docker-compose.yml', 'deploy/kubernetes', 'docs'];
/** `NAME=file:PATH`, `NAME: file:PATH`, or a `name` and a `value` on two lines. */
const NAMED = /\b([A-Z][A-Z_]+)(?:=|: |\n +value: )file:([\w./%-]+)/g;

test.each(PLACES)('%s: each file has the name of its variable', (place) => {
  const path = join(ROOT, place);
  const files = statSync(path).isFile()
    ? [path]
    : readdirSync(path, { recursive: true, withFileTypes: true }).flatMap((entry) =>
        entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
      );
  const named = files.flatMap((file) => [...readFileSync(file, 'utf8').matchAll(NAMED)]);
  expect(named.length).toBeGreaterThan(0);
  const expected = named.map(([, variable = '']) => variable.toLowerCase().replaceAll('_', '-'));
  expect(named.map(([, , file = '']) => basename(file))).toEqual(expected);
});
