/** A terminal as a person has it: one shell that keeps its folder and variables, and what runs in it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import type { Environment } from '../../src/config/environment.ts';
import { eventually } from './eventually.ts';

/**
 * Commands come by descriptor 3, each with what is typed while it runs. Descriptor 4 ends with this process, and takes
 * everything with it that runs in the terminal.
 */
const SHELL = String.raw`
exec 2>&1
(read -r _ <&4; kill -TERM 0) 3<&- &
while IFS= read -r -d '' command <&3 && IFS= read -r -d '' typed <&3; do
  eval "$command" <<< "$typed" 3<&- 4<&-
  printf '\0%s\0' "$?"
done
`;
const FORCED_AFTER_MS = 10_000;

export interface Ran {
  status: number;
  output: string;
}

export class Terminal {
  private readonly shell: ChildProcess;
  private readonly closed: Promise<unknown>;
  private printed = '';

  constructor(folder: string, environment: Environment) {
    this.shell = spawn('bash', ['--noprofile', '--norc', '-c', SHELL], {
      cwd: folder,
      env: { ...environment },
      // A process group of its own, by which all of it can be stopped.
      detached: true,
      stdio: ['ignore', 'pipe', 'inherit', 'pipe', 'pipe'],
    });
    this.closed = once(this.shell, 'close');
    this.shell.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.printed += text;
    });
  }

  /** Waits for the end of the command. */
  async run(command: string, typed = ''): Promise<Ran> {
    this.start(command, typed);
    return eventually(() => {
      const [, output = '', status = ''] = /^([^\0]*)\0(\d+)\0$/.exec(this.printed) ?? [];
      if (status !== '') return { status: Number(status), output };
      if (this.hasEnded) throw new Error(`the shell has ended: ${this.printed}`);
      return undefined;
    });
  }

  /** Does not wait. */
  start(command: string, typed = ''): void {
    this.printed = '';
    this.input.write(`${command}\0${typed}\0`);
  }

  /** What the command printed so far. */
  get output(): string {
    return this.printed;
  }

  /** The command in the foreground has ended, or the shell has. */
  get isIdle(): boolean {
    return this.hasEnded || this.printed.endsWith('\0');
  }

  /** As Ctrl-C and closing the window do it. Resolves when nothing runs any more. */
  async stop(): Promise<void> {
    const force = setTimeout(() => this.signal('SIGKILL'), FORCED_AFTER_MS);
    this.signal('SIGTERM');
    await this.closed;
    clearTimeout(force);
  }

  private signal(signal: NodeJS.Signals): void {
    const { pid } = this.shell;
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch {
      // The group has ended.
    }
  }

  private get hasEnded(): boolean {
    return this.shell.exitCode !== null || this.shell.signalCode !== null;
  }

  private get input(): Writable {
    const input = this.shell.stdio[3];
    if (!input || !('write' in input)) throw new Error('the shell takes no commands');
    return input;
  }
}
