/** Real processes of ours, started as a person would, and stopped after the test in any case. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Elsewhere } from '../../scripts/child-process.ts';
import { programArguments } from '../../scripts/programs.ts';
import type { Environment } from '../../src/config/environment.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Never called. By imports, `npm run test:changed` finds the tests that a change affects. */
export const programs = () => [
  import('../../src/workers/main.ts'),
  import('../../src/starters/api/main.ts'),
  import('../../src/codec-server/main.ts'),
  import('../../simulator/main.ts'),
];

export interface OwnProcess {
  child: ChildProcess;
  /** Its output so far. */
  output(): string;
  /** Sends the signal and waits for the exit. Returns the exit code, or null when a signal ended the process. */
  stop(signal: NodeJS.Signals): Promise<number | null>;
}

/** Resolves once the program has printed `ready`. Rejects with its output when it exits before that. */
export async function startProgram(
  program: string | Elsewhere,
  environment: Environment,
  ready: RegExp,
): Promise<OwnProcess> {
  const { folder, args } =
    typeof program === 'string' ? { folder: ROOT, args: programArguments(program) } : program;
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const exited = once(child, 'exit');
  const started = new Promise<void>((resolve) => {
    const collect = (chunk: Buffer) => {
      output += chunk.toString();
      if (ready.test(output)) resolve();
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
  });
  const ended = await Promise.race([started.then(() => false), exited.then(() => true)]);
  if (ended) throw new Error(`${args.at(-1)} ended before it was ready:\n${output}`);
  return {
    child,
    output: () => output,
    async stop(signal) {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill(signal);
        await exited;
      }
      return child.exitCode;
    },
  };
}
