/**
 * A private PostgreSQL as a child process on a loopback port. It uses the programs that are installed on the machine,
 * in the folder that `pg_config` names.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Child } from '../child-process.ts';
import { SetupError } from '../setup/process.mjs';

export const USER = 'temporal';
/** Each of Temporal's processes uses up to 30 connections. */
export const MAX_CONNECTIONS = 300;

export class Postgres {
  readonly folder: string;
  readonly port: number;
  /** The database's files. A copy made while the process is stopped is a backup. */
  readonly dataFolder: string;
  private readonly programs: string;
  private child: Child | undefined;

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
    await this.child?.kill(signal);
  }

  get isRunning(): boolean {
    return this.child?.isRunning === true;
  }

  get pid(): number | undefined {
    return this.child?.pid;
  }

  /** Sends the signal to every process of the database, such as SIGSTOP to a stalled machine. */
  signalAll(signal: NodeJS.Signals): void {
    const main = this.child?.pid;
    if (main === undefined || !this.isRunning) return;
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
    const from = ['-d', source, '-R', '-X', 'stream', '--checkpoint=fast', '--no-sync'];
    this.runAsUser('pg_basebackup', ['-D', standby.dataFolder, ...from], folder);
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

  private create(): void {
    const args = ['-D', this.dataFolder, '-U', USER, '--auth=trust', '--no-sync'];
    this.runAsUser('initdb', args, this.folder);
  }

  private async launch(): Promise<void> {
    const settings = {
      listen_addresses: '127.0.0.1',
      port: this.port,
      unix_socket_directories: this.folder,
      max_connections: MAX_CONNECTIONS,
    };
    const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const [program, all] = this.asUser('postgres', ['-D', this.dataFolder, ...args]);
    this.child = new Child({
      name: 'PostgreSQL',
      program,
      args: all,
      env: process.env,
      cwd: this.folder,
      logFile: join(this.folder, 'postgres.log'),
      isReady: () => this.isReady(),
    });
    await this.child.start();
  }

  private isReady(): boolean {
    try {
      this.query('postgres', 'select 1');
      return true;
    } catch {
      return false;
    }
  }

  private runAsUser(program: string, args: string[], cwd: string): void {
    execFileSync(...this.asUser(program, args), { stdio: ['ignore', 'ignore', 'pipe'], cwd });
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
