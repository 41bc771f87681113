/**
 * A private PostgreSQL as a child process on a loopback port. It uses the programs that are installed on the machine,
 * in the folder that `pg_config` names.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { endProcess, hasEnded } from '../child-process.ts';
import { killWithParent } from '../dev-server/watchdog.ts';
import { SetupError } from '../setup/process.mjs';

export const USER = 'temporal';
const READY_LIMIT_MS = 60_000;
/** Each of Temporal's processes uses up to 30 connections. */
export const MAX_CONNECTIONS = 300;

export class Postgres {
  readonly folder: string;
  readonly port: number;
  /** The database's files. A copy made while the process is stopped is a backup. */
  readonly dataFolder: string;
  private readonly programs: string;
  private child: ChildProcess | undefined;

  /** Keeps all files in `folder` and uses a database that is already there. */
  constructor(folder: string, port: number) {
    this.folder = folder;
    this.port = port;
    this.dataFolder = join(folder, 'data');
    this.programs = binFolder();
  }

  /** Returns whether the database is new. */
  async start(): Promise<boolean> {
    mkdirSync(this.folder, { recursive: true });
    if (isRoot()) chmodSync(this.folder, 0o777);
    const isNew = !existsSync(this.dataFolder);
    if (isNew) this.create();
    await this.launch();
    return isNew;
  }

  /** SIGINT ends the sessions, then PostgreSQL. SIGKILL is like a power failure. */
  async stop(signal: NodeJS.Signals = 'SIGINT'): Promise<void> {
    await endProcess(this.child, signal);
  }

  get isRunning(): boolean {
    return this.child !== undefined && !hasEnded(this.child);
  }

  /** Sends the signal to every process of the database, such as SIGSTOP to a stalled machine. */
  signalAll(signal: NodeJS.Signals): void {
    const main = this.child?.pid;
    if (main === undefined || this.child === undefined || hasEnded(this.child)) return;
    const children = spawnSync('pgrep', ['-P', `${main}`], { encoding: 'utf8' }).stdout;
    for (const pid of [main, ...children.split('\n').filter(Boolean).map(Number)])
      try {
        process.kill(pid, signal);
      } catch {
        // It has ended meanwhile.
      }
  }

  /** Copies this database into a standby that follows it. `promote` makes it a database of its own. */
  async standby(folder: string, port: number): Promise<Postgres> {
    const standby = new Postgres(folder, port);
    mkdirSync(folder, { recursive: true });
    if (isRoot()) chmodSync(folder, 0o777);
    const source = `host=127.0.0.1 port=${this.port} user=${USER} application_name=standby`;
    const args = [
      '-D',
      standby.dataFolder,
      '-d',
      source,
      '-R',
      '-X',
      'stream',
      '--checkpoint=fast',
      '--no-sync',
    ];
    execFileSync(...this.asUser('pg_basebackup', args), { stdio: ['ignore', 'ignore', 'pipe'], cwd: folder });
    await standby.launch();
    return standby;
  }

  promote(): void {
    this.query('postgres', 'select pg_promote()');
  }

  /** Runs one command with `psql` and returns its output. */
  query(database: string, command: string): Buffer {
    const where = ['-h', '127.0.0.1', '-p', `${this.port}`, '-U', USER, '-d', database];
    const options = { maxBuffer: 2 ** 30, stdio: 'pipe' } as const;
    return execFileSync(join(this.programs, 'psql'), [...where, '-At', '-c', command], options);
  }

  private get logFile(): string {
    return join(this.folder, 'postgres.log');
  }

  private create(): void {
    const args = ['-D', this.dataFolder, '-U', USER, '--auth=trust', '--no-sync'];
    execFileSync(...this.asUser('initdb', args), { stdio: ['ignore', 'ignore', 'pipe'], cwd: this.folder });
  }

  private async launch(): Promise<void> {
    const settings = {
      listen_addresses: '127.0.0.1',
      port: this.port,
      unix_socket_directories: this.folder,
      max_connections: MAX_CONNECTIONS,
    };
    const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const log = openSync(this.logFile, 'a');
    const child = spawn(...this.asUser('postgres', ['-D', this.dataFolder, ...args]), {
      // Ctrl-C goes to the foreground program, which stops the database last.
      detached: true,
      stdio: ['ignore', log, log],
      cwd: this.folder,
    });
    closeSync(log);
    this.child = child;
    await once(child, 'spawn');
    child.unref();
    killWithParent(child);
    const deadline = Date.now() + READY_LIMIT_MS;
    while (!this.isReady()) {
      if (hasEnded(child) || Date.now() > deadline)
        throw new Error(`PostgreSQL did not start:\n${readFileSync(this.logFile, 'utf8').slice(-2_000)}`);
      await sleep(50);
    }
  }

  private isReady(): boolean {
    try {
      this.query('postgres', 'select 1');
      return true;
    } catch {
      return false;
    }
  }

  /** PostgreSQL refuses to run as root. */
  private asUser(program: string, args: string[]): [string, string[]] {
    const path = join(this.programs, program);
    if (!isRoot()) return [path, args];
    return ['setpriv', ['--reuid=postgres', '--regid=postgres', '--clear-groups', path, ...args]];
  }
}

function binFolder(): string {
  try {
    return execFileSync('pg_config', ['--bindir'], { encoding: 'utf8' }).trim();
  } catch {
    throw new SetupError(
      'PostgreSQL is not installed: `pg_config`, `initdb`, `postgres` and `psql` are needed',
    );
  }
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}
