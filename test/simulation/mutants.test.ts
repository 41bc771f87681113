import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { MUTANTS } from '../../simulation/mutants/mutants.ts';
import { fileOf, mutated } from '../../simulation/mutants/run.ts';
import { simulate } from '../support/simulate.ts';

test('mutants have unique names', () => {
  const names = MUTANTS.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names.filter((name) => !/^[a-z]+(-[a-z]+)*$/.test(name))).toEqual([]);
});

test.each(MUTANTS)('the text that $name replaces occurs exactly once', (mutant) => {
  const text = readFileSync(fileOf(mutant), 'utf8');
  expect(mutated(text, mutant)).not.toBe(text);
});

test('a mutant that pays twice is caught within a few seeds', async () => {
  const { stdout } = await simulate('--mutants', '--only', 'blind-retry', '--from', '150', '--seeds', '40');
  expect(stdout).toMatch(/^blind-retry: caught after \d+ seeds?: /);
  expect(stdout).toContain('1 of 1 mutants caught');
});

test('reports an unknown name, and runs nothing', async () => {
  await expect(simulate('--mutants', '--only', 'nobody')).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no mutant nobody'),
  });
});
