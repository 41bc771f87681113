/** The command line as a person uses it: a real process for each call. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Environment } from '../../src/config/environment.ts';

const MAIN = join(import.meta.dirname, '../../src/starters/cli/main.ts');

export interface CliRun {
  code: number | null;
  stdout: string;
  stderr: string;
  /** Standard output as JSON. */
  json(): unknown;
}

export async function cli(environment: Environment, args: readonly string[], input = ''): Promise<CliRun> {
  const child = spawn(process.execPath, ['--import', 'tsx', MAIN, ...args], {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...environment },
  });
  child.stdin.end(input);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: child.exitCode, stdout, stderr, json: () => JSON.parse(stdout) };
}
