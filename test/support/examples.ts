/** The examples in other languages as a person runs them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Environment } from '../../src/config/environment.ts';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';

export interface ExampleRun {
  code: number | null;
  stdout: string;
  stderr: string;
  /** What it printed before the result. */
  state: string;
  /** The result, which it prints last. */
  result(): unknown;
}

/** Runs the example with a file that asks for this payout. */
export async function runExample(
  [command = '', ...args]: readonly string[],
  environment: Environment,
  request: PayoutRequest,
): Promise<ExampleRun> {
  const folder = mkdtempSync(join(tmpdir(), 'payouts-example-'));
  const file = join(folder, 'payout.json');
  writeFileSync(file, JSON.stringify(request));
  const child = spawn(command, [...args, file], {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  rmSync(folder, { recursive: true, force: true });
  const [state = '', ...result] = stdout.split('\n');
  return { code: child.exitCode, stdout, stderr, state, result: () => JSON.parse(result.join('\n')) };
}
