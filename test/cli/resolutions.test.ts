/** Options of decisions. Bad ones are refused before anything is connected or configured. */
import { Command } from '@commander-js/extra-typings';
import { describe, expect, test } from 'vitest';
import { decisionCommands, payoutResolution } from '../../src/starters/cli/decisions.ts';

test('H233 --trade-order-id binds the number of the trade queries to the order', () => {
  const bound = payoutResolution({ by: 'olga', created: 'PO1', tradeOrderId: 'T-1' });
  expect(bound).toEqual({ by: 'olga', created: true, orderId: 'PO1', tradeOrderId: 'T-1' });
  expect(payoutResolution({ by: 'olga', created: 'PO1' })).toEqual({
    by: 'olga',
    created: true,
    orderId: 'PO1',
  });
});

describe('bad input names the option', () => {
  const refused = async (...args: string[]) => {
    const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
    decisionCommands(program);
    return program.parseAsync([args[0] ?? '', 'p-1', '--by', 'olga', ...args.slice(1)], { from: 'user' });
  };

  test.each([
    [
      ['--not-created', 'end', '--trade-order-id', 'T-1'],
      /--trade-order-id .*cannot be used .*--not-created/,
    ],
    [['--created', 'PO1', '--sends', '1'], /--sends .*cannot be used .*--created/],
    [['--created', 'PO1', '--reviewed-order-id', 'PO2'], /--reviewed-order-id .*cannot be used .*--created/],
    [['--created', 'PO1', '--not-created', 'end'], /--not-created .*cannot be used .*--created/],
    [['--not-created', 'perhaps'], /--not-created .*Allowed choices are end, retry/],
    [['--trade-order-id', 'T-1'], /either --created ORDER_ID or --not-created/],
  ])('resolve %j', async (options, message) => {
    await expect(refused('resolve', ...options)).rejects.toThrow(message);
  });

  test.each(['10', '0.555', '-1', '1e0', 'half', ''])('approve --tolerance %j', async (tolerance) => {
    const message = /--tolerance .* It must be a percentage below 10/;
    await expect(refused('approve', '--tolerance', tolerance)).rejects.toThrow(message);
  });

  test('refuse has no --tolerance', async () => {
    await expect(refused('refuse', '--tolerance', '0.5')).rejects.toThrow("unknown option '--tolerance'");
  });
});
