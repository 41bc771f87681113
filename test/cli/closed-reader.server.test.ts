/** Output into a pipe whose reader has gone. Without keys, no verb connects to Temporal. */
import { describe, expect, test } from 'vitest';
import { programArguments } from '../../scripts/programs.ts';
import { ended } from '../support/cli.ts';

/** Runs the verb after the reader of `streams` has ended, so that no write can come before. */
async function withoutReader(streams: '>&3' | '2>&3' | '>&3 2>&3', ...args: string[]) {
  const script = `exec 3> >(true); wait $!; "$@" ${streams}; exit $?`;
  const program = [process.execPath, ...programArguments('src/starters/cli/main.ts'), ...args];
  const { code, stdout, stderr } = await ended('bash', ['-c', script, 'bash', ...program], {});
  return { code, printed: stdout + stderr };
}

describe('H201 a closed reader ends the CLI without a word, and the exit code stays', () => {
  test.each([
    [0, '>&3', ['--help']],
    [0, '>&3', ['completion', 'bash']],
    [1, '>&3', ['list', '--json']],
    [2, '>&3', ['list', '--limit', 'x', '--json']],
    [2, '>&3', ['pay-everybody', '--json']],
    [1, '2>&3', ['list']],
    [2, '2>&3', ['list', '--limit', 'x']],
    [2, '>&3 2>&3', ['pay-everybody']],
    [6, '>&3', ['doctor']],
  ] as const)('H201 exits %d: payouts %s %j', async (code, streams, args) => {
    expect(await withoutReader(streams, ...args)).toEqual({ code, printed: '' });
  });
});
