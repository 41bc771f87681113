/** The completion script in real shells. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PHASES } from '../../src/contract/codes.ts';
import { cli } from '../support/cli.ts';

const HAS_ZSH = spawnSync('zsh', ['-c', 'true']).status === 0;
/** Completes the last word. */
const IN_BASH = `source ./completion.bash
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_payouts
printf "%s\\n" "\${COMPREPLY[@]}"`;
/** Types each line into an interactive shell, with a tab and a line break after it. Prints what the shell prints. */
const IN_ZSH = `zmodload zsh/zpty
zpty shell 'zsh -f -i'
zpty -w shell 'source ./completion.zsh; payouts() { print -r "ran: $*" }; print "is""-ready"'
zpty -r -m shell output '*is-ready*'
for line in "$@"; do
  zpty -w shell "$line"$'\t'
  zpty -r -m shell output '*ran: *'$'\n*'
  print -r -- "$output"
done
zpty -d shell`;

let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'payouts completion-'));
  writeFileSync(join(folder, 'pay day.json'), '[]');
  for (const shell of ['bash', 'zsh']) {
    const { code, stdout, stderr } = await cli({}, ['completion', shell]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    writeFileSync(join(folder, `completion.${shell}`), stdout);
  }
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(shell: string, ...args: string[]): string {
  return execFileSync(shell, args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

function completions(...words: string[]): string[] {
  const printed = run('bash', '--noprofile', '--norc', '-c', IN_BASH, 'bash', 'payouts', ...words);
  return printed.split('\n').filter((word) => word !== '');
}

describe('bash completes', () => {
  test.each([
    ['verbs', ['st'], ['start', 'statement', 'status']],
    ['verbs below a verb', ['account', 'o'], ['open']],
    ['options of a verb', ['start', '--by', 'batch', '--d'], ['--dry-run']],
    ['values of an option of a verb below a verb', ['account', 'resolve', '--not-created', 'r'], ['retry']],
    ['options of a verb below a verb', ['batch', 'list', '--op'], ['--open']],
    ['values of an option', ['list', '--phase', ''], PHASES],
    ['no value that it does not know', ['status', '--app', ''], []],
    ['no id', ['status', ''], []],
    ['shells', ['completion', 'z'], ['zsh']],
  ])('%s', (_what, words, expected) => {
    expect(completions(...words).sort()).toEqual([...expected].sort());
  });

  test('files with blanks in their names, beside verbs', () => {
    expect(completions('start', 'pa')).toEqual(['pay day.json']);
    expect(completions('account', 'open', 'pa')).toEqual(['pay day.json']);
    expect(completions('batch', 'sta')).toEqual(['status']);
  });
});

test.skipIf(!HAS_ZSH)('zsh completes with the same script', () => {
  const typed = ['payouts stat', 'payouts list --phase PROC', 'payouts account op', 'payouts start pay'];
  const printed = run('zsh', '-f', '-c', IN_ZSH, 'zsh', ...typed);
  expect([...printed.matchAll(/^ran: (.*?)\s*$/gm)].map(([, line]) => line)).toEqual([
    'status',
    'list --phase PROCESSING',
    'account open',
    'start pay day.json',
  ]);
});

test('an unknown shell is bad input', async () => {
  expect((await cli({}, ['completion', 'tcsh'])).code).toBe(2);
});
