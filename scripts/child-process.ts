/** Starts and stops child processes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, createWriteStream, existsSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePorts } from './dev-server/ports.ts';
import { programArguments } from './programs.ts';

/** A program of another folder, by Node's arguments. */
export interface Elsewhere {
  folder: string;
  args: readonly string[];
}

/**
 * Starts a program and resolves at its first line on standard output. All its output goes to `logFile`. `onSpawn` gets
 * the process immediately, so that the caller can end it while it starts.
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

/** `$1` is the child. It has 5 s to stop gracefully. */
const WATCHDOG =
  'trap "" INT TERM HUP; read line; kill -TERM "$1" || exit; n=0; ' +
  'while kill -0 "$1" && [ $n -lt 50 ]; do sleep 0.1; n=$((n+1)); done; kill -KILL "$1"';

/**
 * Ends a child process when this process ends in any way, `kill -9` included.
 *
 * A small shell reads its standard input until the end. Only this process holds the other end of that pipe, so
 * the system closes it when this process is gone. No exit handler can guarantee that.
 */
export function killWithParent(child: ChildProcess): void {
  if (child.pid === undefined) return;
  const watchdog = spawn('/bin/sh', ['-c', WATCHDOG, 'watchdog', `${child.pid}`], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // Without a watchdog, the child may outlive a killed parent, but works.
  watchdog.on('error', () => {});
  watchdog.stdin?.on('error', () => {});
  watchdog.unref();
  // Once the child is gone, the system may give its pid to another process.
  child.once('exit', () => watchdog.kill('SIGKILL'));
}

const READY_LIMIT_MS = 120_000;
/** Longer than the drain of our programs. */
const STOP_LIMIT_MS = 30_000;
/** Another process may take a free port before a server does. */
const MAX_TRIES = 5;

export interface Command {
  name: string;
  program: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  cwd?: string;
  logFile: string;
  /** Asked until it's true. `log`: what the process has written since its start. */
  isReady(log: string): boolean | Promise<boolean>;
}

/** Thrown if a process doesn't start. The message has the end of its log. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/**
 * A process that can be killed and started again with the same settings. It never outlives the process that started it,
 * even if that process is killed.
 */
export class Child {
  readonly command: Command;
  private process: ChildProcess | undefined;

  constructor(command: Command) {
    this.command = command;
  }

  get name(): string {
    return this.command.name;
  }

  get pid(): number | undefined {
    return this.process?.pid;
  }

  get isRunning(): boolean {
    return this.process !== undefined && !hasEnded(this.process);
  }

  /** `env` adds to the variables of this start. Throws `StartError`. */
  async start(env: NodeJS.ProcessEnv = {}): Promise<void> {
    const { name, program, args, logFile, cwd, isReady } = this.command;
    const log = openSync(logFile, 'a');
    const begin = this.log.length;
    const child = spawn(program, args, {
      // A process group of its own: Ctrl-C goes to the foreground program, which stops this one last.
      detached: true,
      stdio: ['ignore', log, log],
      env: { ...this.command.env, ...env },
      cwd,
    });
    closeSync(log);
    this.process = child;
    await once(child, 'spawn');
    child.unref();
    killWithParent(child);
    for (
      const deadline = Date.now() + READY_LIMIT_MS;
      !(await isReady(this.log.slice(begin)));
      await sleep(50)
    )
      if (hasEnded(child) || Date.now() > deadline)
        throw new StartError(`${name} did not start:\n${this.log.trim().split('\n').slice(-10).join('\n')}`);
  }

  /** Waits for the end, except after SIGSTOP and SIGCONT. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    if (signal === 'SIGSTOP' || signal === 'SIGCONT') this.process?.kill(signal);
    else await endProcess(this.process, signal);
  }

  /** Gracefully, and by force after half a minute. */
  async stop(): Promise<void> {
    await stopProcess(this.process, STOP_LIMIT_MS);
  }

  private get log(): string {
    const { logFile } = this.command;
    return existsSync(logFile) ? readFileSync(logFile, 'utf8') : '';
  }
}

/** Starts a process on the `given` ports, or on free ones. `command` gets them. Throws `StartError`. */
export async function startOnPorts(
  given: readonly number[] | undefined,
  count: number,
  command: (ports: readonly number[]) => Command,
): Promise<{ child: Child; ports: readonly number[] }> {
  for (let attempt = 1; ; attempt += 1) {
    const ports = given ?? (await freePorts(count));
    const child = new Child(command(ports));
    try {
      await child.start();
      return { child, ports };
    } catch (error) {
      await child.kill('SIGKILL');
      if (!(error instanceof StartError) || attempt === MAX_TRIES) throw error;
    }
  }
}
