/** The keys of a topology: what exists already stays, and what a newer version needs is added. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { FILES, makeKeys } from '../../deploy/keys.mjs';

test('a volume without session keys gets them, and nothing else changes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'payouts-volume-'));
  const contents = () =>
    Object.entries(FILES).flatMap(([program, files]) =>
      files.map((file) => [program, file, readFileSync(join(folder, program, file), 'utf8')]),
    );
  makeKeys(folder);
  const made = contents();
  makeKeys(folder);
  expect(contents()).toEqual(made);
  rmSync(join(folder, 'api', 'session-keys'));
  makeKeys(folder);
  const others = (all: string[][]) => all.filter(([, file]) => file !== 'session-keys');
  expect(others(contents())).toEqual(others(made));
  expect(readFileSync(join(folder, 'api', 'session-keys'), 'utf8')).toMatch(/^s1:[\w+/]{43}=$/);
});
