/** Child processes of ours: programs for the demo and the bench, and how any of them ends. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { programArguments } from './programs.ts';

/**
 * Resolves at the program's first line on standard output; all it says goes to `logFile`. `began` is told of the process
 * before that, for whoever has to end it even while it comes up.
 */
export async function startOwn(
  program: string,
  env: NodeJS.ProcessEnv,
  logFile: string,
  began: (child: ChildProcess) => void = () => undefined,
): Promise<ChildProcess> {
  const child = spawn(process.execPath, programArguments(program), {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  began(child);
  const log = createWriteStream(logFile);
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  const first = once(child.stdout, 'data');
  const gone = once(child, 'exit').then(() => Promise.reject(new Error(`${program} ended; see ${logFile}`)));
  await Promise.race([first, gone]);
  gone.catch(() => undefined);
  return child;
}

/**
 * Sends the signal, also to one that was frozen, and waits for the end. Whoever waits for an end must not end first, so
 * a process that nobody waited for (`unref`) is waited for now.
 */
export async function endOwn(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (child === undefined || hasEnded(child)) return;
  const exit = once(child, 'exit');
  child.ref();
  if (signal !== 'SIGKILL') child.kill('SIGCONT');
  child.kill(signal);
  await exit;
}

/** In good order; by force after the limit. */
export async function stopOwn(child: ChildProcess | undefined, limitMs: number): Promise<void> {
  const force = setTimeout(() => child?.kill('SIGKILL'), limitMs);
  await endOwn(child, 'SIGTERM');
  clearTimeout(force);
}

/** Or never began. */
export function hasEnded({ exitCode, signalCode, pid }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null || pid === undefined;
}
