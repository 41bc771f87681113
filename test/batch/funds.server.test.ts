import { afterAll, beforeAll, expect, test } from 'vitest';
import { manyRows } from '../support/batches.ts';
import { cli } from '../support/cli.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

let world: VirtualWorld;
beforeAll(async () => {
  world = await VirtualWorld.start();
});
afterAll(() => world.stop());

const run = (rows: readonly object[], ...args: string[]) =>
  cli(world.workerEnvironment, ['batch', '-', '--dry-run', ...args], JSON.stringify(rows));

test('a dry run shows the totals beside the balances, and starts nothing', async () => {
  const [first, ...others] = manyRows(3);
  if (!first) throw new Error('three rows');
  const shown = await run([{ ...first, payerId: 'payer-2' }, ...others], '--json');
  expect(shown.code).toBe(0);
  const money = (currency: string) => ({ currency, amount: expect.stringMatching(/^\d+\.\d\d$/) });
  const quote = { available: money('USD'), pay: money('USD'), target: { currency: 'CNY', amount: '100.00' } };
  expect(shown.json()).toEqual({
    payers: [
      { payerId: 'payer-2', payouts: 1, total: { currency: 'CNY', amount: '100.00' }, quote },
      { payerId: 'payer-1', payouts: 2, total: { currency: 'CNY', amount: '200.00' }, quote },
    ],
  });
  await expect(world.payouts.state(first)).rejects.toThrow();
});

test('a balance that cannot be read is named, and the total is shown', async () => {
  const rule = world.simulator.control.addFault({
    operation: 'fee',
    fault: { kind: 'envelope', code: 900_002 },
  });
  const shown = await run(manyRows(2));
  world.simulator.control.removeFault(rule.id);
  expect(shown).toMatchObject({ code: 0, stdout: expect.stringMatching(/200\.00 CNY.*cannot be read now/s) });
});

test('H337 a balance that is too low for the rows of a payer is named', async () => {
  world.simulator.control.setAccounts('poor-1', [{ currency: 'USD', available: '1.00' }]);
  const shown = await run(manyRows(2).map((row) => ({ ...row, payerId: 'poor-1' })));
  expect(shown.stdout).toMatch(/payer poor-1 has 1\.00 USD; these rows need about \d+ USD\./);
});
