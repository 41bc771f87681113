import { Command } from '@commander-js/extra-typings';
import { expect, test } from 'vitest';
import { JSON_OUTPUT, quick } from '../../src/starters/cli/command.ts';

test('--json is no part of the options that a command passes on', async () => {
  const seen: unknown[] = [];
  const program = new Command()
    .option('--by <name>')
    .addOption(JSON_OUTPUT)
    .action(
      quick((options) => {
        seen.push({ ...options });
        throw new Error('no connection is needed');
      }),
    );
  await expect(program.parseAsync(['--json', '--by', 'olga'], { from: 'user' })).rejects.toThrow();
  expect(seen).toEqual([{ by: 'olga' }]);
});
