/** `npm run simulate` as a person runs it. */
import { expect, test } from 'vitest';
import { simulate } from '../support/simulate.ts';

test('small worlds hold every invariant', async () => {
  const { stdout } = await simulate('--from', '2001', '--seeds', '10', '--max-payouts', '1');
  expect(stdout).toContain('10 of 10 seeds without a violation');
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
