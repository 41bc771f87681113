/** The command line as a person uses it: a real process for each call. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { programArguments } from '../../scripts/programs.ts';
import type { Environment } from '../../src/config/environment.ts';
import { virtualPauses } from './eventually.ts';

const MAIN = 'src/starters/cli/main.ts';
/** How much faster than real time virtual time passes while a program runs. */
const PACE = 2;
const STEP_MS = 200;

/** Never called. By imports, `npm run test:changed` finds the tests that a change affects. */
export const program = () => import('../../src/starters/cli/main.ts');

export interface CliRun {
  code: number | null;
  stdout: string;
  stderr: string;
  /** Standard output as JSON. */
  json(): unknown;
}

export async function cli(environment: Environment, args: readonly string[], input = ''): Promise<CliRun> {
  return ended(process.execPath, [...programArguments(MAIN), ...args], environment, input);
}

/** util-linux provides it on nearly every Linux; elsewhere its options differ. */
export const CAN_HAVE_TERMINAL = spawnSync('script', ['-qec', 'true', '/dev/null']).status === 0;

interface TerminalOptions {
  typed?: string;
  outputFile?: string;
  onPrinted?: (part: string) => void;
}

/**
 * The same on a terminal, which `script` provides: standard input and standard error, and standard output unless
 * `outputFile` takes it. `typed` is what the person types; `onPrinted` gets each part of what the terminal prints.
 */
export async function cliOnTerminal(
  environment: Environment,
  args: readonly string[],
  { typed = '', outputFile, onPrinted }: TerminalOptions = {},
): Promise<CliRun> {
  const words = [process.execPath, ...programArguments(MAIN), ...args].map(quotedForShell);
  const command = [...words, ...(outputFile === undefined ? [] : ['>', quotedForShell(outputFile)])].join(
    ' ',
  );
  return ended(
    'script',
    ['-qec', command, '/dev/null'],
    { TERM: 'xterm', ...environment },
    typed,
    undefined,
    onPrinted,
  );
}

function quotedForShell(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** Lets virtual time pass for a program that sleeps in real time. Returns a function that stops it. */
export function passTime(): () => void {
  const timer = setInterval(() => {
    for (const pause of virtualPauses) void pause(STEP_MS);
  }, STEP_MS / PACE);
  return () => clearInterval(timer);
}

/** Runs a program to its end. Passes on no environment of this process except PATH. */
export async function ended(
  program: string,
  args: readonly string[],
  environment: Environment,
  input = '',
  cwd = process.cwd(),
  onPrinted?: (part: string) => void,
): Promise<CliRun> {
  const child = spawn(program, args, {
    cwd,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...environment },
  });
  child.stdin.end(input);
  const stopTime = passTime();
  if (onPrinted) child.stdout.on('data', (part: Buffer) => onPrinted(part.toString()));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  stopTime();
  return { code: child.exitCode, stdout, stderr, json: () => JSON.parse(stdout) };
}
