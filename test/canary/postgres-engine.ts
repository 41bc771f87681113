/**
 * A Temporal server on a PostgreSQL of its own, for the search through rows. The programs come from the machine:
 * PostgreSQL's by `pg_config`, Temporal's by TEMPORAL_SERVER_PATH and TEMPORAL_SQL_TOOL_PATH
 * (`go install go.temporal.io/server/cmd/server@v1.29.1` and `…/cmd/tools/sql@v1.29.1`).
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { freePorts } from '../../scripts/dev-server/ports.ts';
import { eventually } from '../support/payout-world.ts';
import type { CanaryEngine } from './engine.ts';

const DATABASES = { temporal: 'postgresql/v12/temporal', temporal_visibility: 'postgresql/v12/visibility' };

export async function postgresEngine(): Promise<CanaryEngine> {
  const folder = mkdtempSync(join(tmpdir(), 'payouts-canary-pg-'));
  chmodSync(folder, 0o777);
  const [port = 0] = await freePorts(1);
  const ports = await lowPorts(8);
  const database = startPostgres(folder, port);
  await eventually(() => (answers(port) ? true : undefined));
  createSchemas(port);
  const log = join(folder, 'engine.log');
  const server = startServer(folder, port, ports, log);
  const address = `127.0.0.1:${ports[0]}`;
  await eventually(() => namespaceReady(address));
  const stop = async () => {
    await ended(server);
    await ended(database);
    rmSync(folder, { recursive: true, force: true });
  };
  return {
    address,
    stored: async () => {
      await ended(server);
      const tables = Object.keys(DATABASES).flatMap((name) => rowsOf(port, name));
      return new Map([['engine.log', readFileSync(log)], ...tables]);
    },
    stop,
  };
}

/** The server keeps its ports in the database as small integers. */
async function lowPorts(count: number): Promise<number[]> {
  const free: number[] = [];
  for (let port = 20_000 + Math.floor(Math.random() * 8_000); free.length < count; port += 1)
    if (await isFree(port)) free.push(port);
  return free;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const free = once(server, 'listening').then(
    () => true,
    () => false,
  );
  server.listen(port, '127.0.0.1');
  const answer = await free;
  server.close();
  return answer;
}

/** PostgreSQL refuses to be run by root. */
function asPostgres(program: string, args: string[]): [string, string[]] {
  if (process.getuid?.() !== 0) return [program, args];
  return ['setpriv', ['--reuid=postgres', '--regid=postgres', '--clear-groups', program, ...args]];
}

function startPostgres(folder: string, port: number): ChildProcess {
  const programs = execFileSync('pg_config', ['--bindir'], { encoding: 'utf8' }).trim();
  const data = join(folder, 'data');
  const init = asPostgres(join(programs, 'initdb'), ['-D', data, '-U', 'temporal', '--auth=trust']);
  execFileSync(...init, { stdio: 'ignore', cwd: folder });
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: folder,
    max_connections: 200,
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const [program, all] = asPostgres(join(programs, 'postgres'), ['-D', data, ...args]);
  const log = openSync(join(folder, 'postgres.log'), 'a');
  return spawn(program, all, { stdio: ['ignore', log, log], cwd: folder });
}

function psql(port: number, database: string, command: string): Buffer {
  const where = ['-h', '127.0.0.1', '-p', `${port}`, '-U', 'temporal', '-d', database];
  return execFileSync('psql', [...where, '-At', '-c', command], { maxBuffer: 2 ** 30, stdio: 'pipe' });
}

function answers(port: number): boolean {
  try {
    psql(port, 'postgres', 'select 1');
    return true;
  } catch {
    return false;
  }
}

function createSchemas(port: number): void {
  const tool = process.env['TEMPORAL_SQL_TOOL_PATH'] ?? 'temporal-sql-tool';
  const common = ['--plugin', 'postgres12', '--ep', '127.0.0.1', '-p', `${port}`, '-u', 'temporal'];
  for (const [database, schema] of Object.entries(DATABASES))
    for (const step of [
      ['create'],
      ['setup-schema', '-v', '0.0'],
      ['update-schema', '--schema-name', schema],
    ])
      execFileSync(tool, [...common, '--db', database, ...step], { stdio: 'ignore' });
}

function startServer(folder: string, database: number, ports: number[], logFile: string): ChildProcess {
  mkdirSync(join(folder, 'config'));
  writeFileSync(join(folder, 'dynamic.yaml'), 'matching.useNewMatcher:\n  - value: true\n');
  writeFileSync(join(folder, 'config/canary.yaml'), JSON.stringify(serverConfig(folder, database, ports)));
  const log = openSync(logFile, 'a');
  const program = process.env['TEMPORAL_SERVER_PATH'] ?? 'temporal-server';
  const args = ['--root', folder, '--config', 'config', '--env', 'canary', 'start'];
  return spawn(program, args, { stdio: ['ignore', log, log] });
}

/** JSON is YAML. */
function serverConfig(folder: string, database: number, [frontend = 0, ...ports]: number[]) {
  const store = (databaseName: string) => ({
    sql: {
      pluginName: 'postgres12',
      databaseName,
      connectAddr: `127.0.0.1:${database}`,
      connectProtocol: 'tcp',
      user: 'temporal',
      maxConns: 20,
      maxIdleConns: 20,
    },
  });
  const service = (grpcPort: number, membershipPort: number) => ({
    rpc: { grpcPort, membershipPort, bindOnIP: '127.0.0.1' },
  });
  const port = (at: number) => ports[at] ?? 0;
  return {
    log: { stdout: true, level: 'debug' },
    persistence: {
      defaultStore: 'default',
      visibilityStore: 'visibility',
      numHistoryShards: 4,
      datastores: { default: store('temporal'), visibility: store('temporal_visibility') },
    },
    global: { membership: { maxJoinDuration: '30s', broadcastAddress: '127.0.0.1' } },
    services: {
      frontend: service(frontend, port(0)),
      history: service(port(1), port(2)),
      matching: service(port(3), port(4)),
      worker: service(port(5), port(6)),
    },
    clusterMetadata: {
      enableGlobalNamespace: false,
      failoverVersionIncrement: 10,
      masterClusterName: 'active',
      currentClusterName: 'active',
      clusterInformation: {
        active: {
          enabled: true,
          initialFailoverVersion: 1,
          rpcName: 'frontend',
          rpcAddress: `127.0.0.1:${frontend}`,
        },
      },
    },
    publicClient: { hostPort: `127.0.0.1:${frontend}` },
    dynamicConfigClient: { filepath: join(folder, 'dynamic.yaml'), pollInterval: '60s' },
  };
}

/** Each table as PostgreSQL writes it in binary, so that nothing is compressed, escaped or in hexadecimal. */
function rowsOf(port: number, database: string): [string, Buffer][] {
  const tables = psql(port, database, "select tablename from pg_tables where schemaname = 'public'");
  const names = tables.toString().trim().split('\n');
  return names.map((table): [string, Buffer] => [
    `postgres ${database}.${table}`,
    psql(port, database, `copy "${table}" to stdout with (format binary)`),
  ]);
}

async function namespaceReady(address: string): Promise<true | undefined> {
  try {
    const connection = await Connection.connect({ address, connectTimeout: '1s' });
    const { workflowService } = connection;
    const namespace = 'default';
    const workflowExecutionRetentionPeriod = msToTs('1 day');
    await workflowService
      .registerNamespace({ namespace, workflowExecutionRetentionPeriod })
      .catch(() => undefined);
    await workflowService.listWorkflowExecutions({ namespace });
    await connection.close();
    return true;
  } catch {
    return undefined;
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  // For PostgreSQL: end the sessions, then end. For the server: in good order.
  child.kill('SIGINT');
  await exit;
}
