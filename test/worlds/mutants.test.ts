import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { MUTANTS } from '../../worlds/mutants/mutants.ts';
import { fileOf, mutated } from '../../worlds/mutants/run.ts';

test('mutants have unique names', () => {
  const names = MUTANTS.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names.filter((name) => !/^[a-z]+(-[a-z]+)*$/.test(name))).toEqual([]);
});

test.each(MUTANTS)('the text that $name replaces occurs exactly once', (mutant) => {
  const text = readFileSync(fileOf(mutant), 'utf8');
  expect(mutated(text, mutant)).not.toBe(text);
});
