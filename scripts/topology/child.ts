/** A process of the topology that can be killed and started again, with the same ports and settings. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { endProcess, hasEnded, stopProcess } from '../child-process.ts';
import { isListening } from '../dev-server/readiness.ts';
import { killWithParent } from '../dev-server/watchdog.ts';

const READY_LIMIT_MS = 120_000;
/** Longer than the drain of our programs. */
const STOP_LIMIT_MS = 30_000;

export interface Command {
  /** Unique in the topology, such as `history-1`. */
  name: string;
  program: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  cwd?: string;
  logFile: string;
  /** The process is ready when it accepts connections here, or has written this text. */
  ready: { address: string } | { text: string };
}

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

  /** `env` adds to the variables of this start. */
  async start(env: NodeJS.ProcessEnv = {}): Promise<void> {
    const { name, program, args, logFile, cwd } = this.command;
    const log = openSync(logFile, 'a');
    const begin = this.logText().length;
    const child = spawn(program, args, {
      // A process group of its own: Ctrl-C goes to the foreground program, which stops this one in order.
      detached: true,
      stdio: ['ignore', log, log],
      env: { ...this.command.env, ...env },
      ...(cwd !== undefined && { cwd }),
    });
    closeSync(log);
    this.process = child;
    await once(child, 'spawn');
    child.unref();
    killWithParent(child);
    for (const deadline = Date.now() + READY_LIMIT_MS; !(await this.isReady(begin)); await sleep(50))
      if (hasEnded(child) || Date.now() > deadline)
        throw new Error(`${name} did not start:\n${this.logText().trim().split('\n').slice(-10).join('\n')}`);
  }

  /** Waits for the end, except after SIGSTOP and SIGCONT. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    if (signal === 'SIGSTOP' || signal === 'SIGCONT') this.process?.kill(signal);
    else await endProcess(this.process, signal);
  }

  async stop(): Promise<void> {
    await stopProcess(this.process, STOP_LIMIT_MS);
  }

  private async isReady(begin: number): Promise<boolean> {
    const { ready } = this.command;
    if ('address' in ready) return isListening(ready.address);
    return this.logText().slice(begin).includes(ready.text);
  }

  private logText(): string {
    try {
      return readFileSync(this.command.logFile, 'utf8');
    } catch {
      return '';
    }
  }
}
