/** Starts and stops child processes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { programArguments } from './programs.ts';

/** A program of another folder, by Node's arguments. */
export interface Elsewhere {
  folder: string;
  args: readonly string[];
}

/**
 * Starts a program and resolves at its first line on standard output. All its output goes to `logFile`. `onSpawn` gets
 * the process at once, so that the caller can end it while it starts.
 */
export async function startProgram(
  program: string | Elsewhere,
  env: NodeJS.ProcessEnv,
  logFile: string,
  onSpawn: (child: ChildProcess) => void = () => undefined,
): Promise<ChildProcess> {
  const { folder, args } =
    typeof program === 'string' ? { folder: undefined, args: programArguments(program) } : program;
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onSpawn(child);
  const log = createWriteStream(logFile);
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  const first = once(child.stdout, 'data');
  const gone = once(child, 'exit').then(() =>
    Promise.reject(new Error(`${args.at(-1)} ended; see ${logFile}`)),
  );
  await Promise.race([first, gone]);
  gone.catch(() => undefined);
  return child;
}

/**
 * Sends the signal, also to a stopped process, and waits for its end. `ref` undoes an earlier `unref`, so that this
 * process does not exit while it waits.
 */
export async function endProcess(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (child === undefined || hasEnded(child)) return;
  const exit = once(child, 'exit');
  child.ref();
  if (signal !== 'SIGKILL') child.kill('SIGCONT');
  child.kill(signal);
  await exit;
}

/** Stops gracefully, and by force after the limit. */
export async function stopProcess(child: ChildProcess | undefined, limitMs: number): Promise<void> {
  const force = setTimeout(() => child?.kill('SIGKILL'), limitMs);
  await endProcess(child, 'SIGTERM');
  clearTimeout(force);
}

/** Also true for a process that never started. */
export function hasEnded({ exitCode, signalCode, pid }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null || pid === undefined;
}
