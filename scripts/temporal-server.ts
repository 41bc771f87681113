/**
 * The Temporal server that production runs, with PostgreSQL, as child processes on loopback ports: what
 * docker-compose.yml starts, where no Docker is. It reads the same dynamic configuration. Like the dev server, it
 * never outlives the process that started it.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { registerSearchAttributes, SEARCH_ATTRIBUTES } from '../src/temporal/search-attributes.ts';
import { freePorts, loopback } from './dev-server/ports.ts';
import { untilItAnswers } from './dev-server/readiness.ts';
import { guard } from './dev-server/watchdog.ts';
import { endOwn, hasEnded, stopOwn } from './own-process.ts';
import { projectRoot } from './setup/paths.mjs';
import { findTemporalServer } from './setup/temporal-server.mjs';
import { Postgres, USER } from './temporal-server/postgres.ts';

export const DYNAMIC_CONFIG_FILE = join(projectRoot, 'deploy/temporal/dynamicconfig/payouts.yaml');
/** The databases, each with its schema as the schema tool names it. */
export const DATABASES = {
  temporal: 'postgresql/v12/temporal',
  temporal_visibility: 'postgresql/v12/visibility',
} as const;

const READY_LIMIT_MS = 120_000;
const STOP_LIMIT_MS = 15_000;
const RETENTION_MS = 45 * 24 * 3_600_000;
/** Another process may take a free port before the server does. */
const TRIES = 5;

export interface TemporalServerOptions {
  /** Where database and logs lie; a new temporary folder, deleted by `stop`, otherwise. */
  folder?: string | undefined;
  /** Default: the one of deploy/. */
  dynamicConfigFile?: string | undefined;
  /** How much the server logs; `warn` otherwise. */
  logLevel?: 'debug' | undefined;
  /** 512, as in production, otherwise. Cannot be changed for a database that exists. */
  historyShards?: number | undefined;
}

/** Thrown when the server does not come up; holds the end of its log. */
export class TemporalServerError extends Error {
  override readonly name = 'TemporalServerError';
}

export async function startTemporalServer(options: TemporalServerOptions = {}): Promise<TemporalServer> {
  const programs = await findTemporalServer();
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'payouts-temporal-'));
  mkdirSync(folder, { recursive: true });
  // The user that PostgreSQL runs as has to reach its part of it.
  chmodSync(folder, 0o711);
  const [databasePort = 0] = await freePorts(1);
  const database = new Postgres(join(folder, 'postgres'), databasePort);
  const server = new TemporalServer(programs.server, database, folder, options);
  try {
    if (await database.start()) createSchemas(programs.sqlTool, database.port);
    await server.start();
    return server;
  } catch (error) {
    await server.stop();
    throw error;
  }
}

export class TemporalServer {
  readonly namespace = 'default';
  readonly database: Postgres;
  readonly logFile: string;
  private readonly program: string;
  private readonly folder: string;
  private readonly options: TemporalServerOptions;
  private ports: number[] | undefined;
  private child: ChildProcess | undefined;

  constructor(program: string, database: Postgres, folder: string, options: TemporalServerOptions) {
    this.program = program;
    this.database = database;
    this.folder = folder;
    this.options = options;
    this.logFile = join(folder, 'temporal.log');
  }

  get address(): string {
    return loopback(this.ports?.[0]);
  }

  get pid(): number | undefined {
    return this.child?.pid;
  }

  /** The server alone, after `kill`: the same ports, the same database. */
  async start(): Promise<void> {
    const given = this.ports;
    for (let attempt = 1; ; attempt += 1) {
      this.ports = given ?? (await lowPorts(PORT_VARIABLES.length));
      try {
        await this.launch(this.ports);
        return;
      } catch (error) {
        await this.kill('SIGKILL');
        if (!(error instanceof TemporalServerError) || attempt === TRIES) throw error;
      }
    }
  }

  /** The server alone; waits for its end. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    await endOwn(this.child, signal);
  }

  /** Server and database. */
  async stop(): Promise<void> {
    await stopOwn(this.child, STOP_LIMIT_MS);
    await this.database.stop();
    if (this.options.folder === undefined) rmSync(this.folder, { recursive: true, force: true });
  }

  private async launch(ports: readonly number[]): Promise<void> {
    const log = openSync(this.logFile, 'a');
    const child = spawn(this.program, ['--allow-no-auth', 'start'], {
      detached: true,
      stdio: ['ignore', log, log],
      env: this.environment(ports),
    });
    closeSync(log);
    this.child = child;
    await once(child, 'spawn');
    child.unref();
    guard(child);
    const isGone = () => hasEnded(child);
    if (!(await untilNamespace(this.address, this.namespace, isGone)) || !(await this.answers(isGone)))
      throw new TemporalServerError(`the Temporal server did not start:\n${this.logTail()}`);
  }

  /** What the server's image reads: without a configuration file it takes everything from there. */
  private environment(ports: readonly number[]): NodeJS.ProcessEnv {
    return {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      DB: 'postgres12',
      DB_PORT: `${this.database.port}`,
      POSTGRES_SEEDS: '127.0.0.1',
      POSTGRES_USER: USER,
      BIND_ON_IP: '127.0.0.1',
      TEMPORAL_BROADCAST_ADDRESS: '127.0.0.1',
      NUM_HISTORY_SHARDS: `${this.options.historyShards ?? 512}`,
      LOG_LEVEL: this.options.logLevel ?? 'warn',
      DYNAMIC_CONFIG_FILE_PATH: this.options.dynamicConfigFile ?? DYNAMIC_CONFIG_FILE,
      ...Object.fromEntries(PORT_VARIABLES.map((name, at) => [name, `${ports[at]}`])),
    };
  }

  private answers(isGone: () => boolean): Promise<boolean> {
    return untilItAnswers({
      address: this.address,
      namespace: this.namespace,
      searchAttributes: Object.keys(SEARCH_ATTRIBUTES),
      uiUrl: undefined,
      isGone,
      limitMs: READY_LIMIT_MS,
    });
  }

  private logTail(): string {
    return readFileSync(this.logFile, 'utf8').trim().split('\n').slice(-10).join('\n');
  }
}

/** The first is the one that clients use. */
const PORT_VARIABLES = [
  'FRONTEND_GRPC_PORT',
  'FRONTEND_MEMBERSHIP_PORT',
  'FRONTEND_HTTP_PORT',
  'HISTORY_GRPC_PORT',
  'HISTORY_MEMBERSHIP_PORT',
  'MATCHING_GRPC_PORT',
  'MATCHING_MEMBERSHIP_PORT',
  'WORKER_GRPC_PORT',
  'WORKER_MEMBERSHIP_PORT',
] as const;

/** The server keeps its ports in the database as small integers, so those that the system picks are too high. */
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

/** Like deploy/temporal/schema.sh. */
function createSchemas(tool: string, port: number): void {
  const common = ['--plugin', 'postgres12', '--ep', '127.0.0.1', '-p', `${port}`, '-u', USER];
  for (const [database, schema] of Object.entries(DATABASES)) {
    const step = (...args: string[]) =>
      execFileSync(tool, [...common, '--db', database, ...args], { stdio: 'pipe' });
    step('create');
    step('setup-schema', '-v', '0.0');
    step('update-schema', '--schema-name', schema);
  }
}

/** Like deploy/temporal/namespace.sh: makes the namespace and the search attributes that are missing. */
async function untilNamespace(address: string, namespace: string, isGone: () => boolean): Promise<boolean> {
  for (const deadline = Date.now() + READY_LIMIT_MS; !isGone() && Date.now() < deadline; await sleep(100)) {
    let connection: Connection | undefined;
    try {
      connection = await Connection.connect({ address, connectTimeout: '1s' });
      const { workflowService } = connection;
      const known = await workflowService.describeNamespace({ namespace }).catch(() => undefined);
      if (known === undefined)
        await workflowService.registerNamespace({
          namespace,
          workflowExecutionRetentionPeriod: msToTs(RETENTION_MS),
        });
      await registerSearchAttributes(connection, namespace);
      return true;
    } catch {
      // Not all of its parts are up yet.
    } finally {
      await connection?.close();
    }
  }
  return false;
}
