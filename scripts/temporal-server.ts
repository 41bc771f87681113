/**
 * The production Temporal server with PostgreSQL as child processes on loopback ports: the equivalent of
 * docker-compose.yml without Docker, with the same dynamic configuration. Like the dev server, it never outlives the
 * process that started it.
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
import { endProcess, hasEnded, stopProcess } from './child-process.ts';
import { freePorts, loopback } from './dev-server/ports.ts';
import { untilReady } from './dev-server/readiness.ts';
import { killWithParent } from './dev-server/watchdog.ts';
import { projectRoot } from './setup/paths.mjs';
import { findTemporalServer } from './setup/temporal-server.mjs';
import { Postgres, USER } from './temporal-server/postgres.ts';

export const DYNAMIC_CONFIG_FILE = join(projectRoot, 'deploy/temporal/dynamicconfig/payouts.yaml');
/** The databases, each with the schema tool's name for its schema. */
export const DATABASES = {
  temporal: 'postgresql/v12/temporal',
  temporal_visibility: 'postgresql/v12/visibility',
} as const;

const READY_LIMIT_MS = 120_000;
const STOP_LIMIT_MS = 15_000;
const RETENTION_MS = 45 * 24 * 3_600_000;
/** Another process may take a free port before the server does. */
const MAX_TRIES = 5;

export interface TemporalServerOptions {
  /** The folder of the database and the logs. Absent: a temporary folder, which `stop` deletes. */
  folder?: string | undefined;
  /** Default: the file in deploy/. */
  dynamicConfigFile?: string | undefined;
  /** Default: `warn`. */
  logLevel?: 'debug' | undefined;
  /** Default: 512, as in production. An existing database keeps its number. */
  historyShards?: number | undefined;
}

/** Thrown if the server does not start; its message holds the end of the log. */
export class TemporalServerError extends Error {
  override readonly name = 'TemporalServerError';
}

export async function startTemporalServer(options: TemporalServerOptions = {}): Promise<TemporalServer> {
  const programs = await findTemporalServer();
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'payouts-temporal-'));
  mkdirSync(folder, { recursive: true });
  // The user that runs PostgreSQL needs access to its subfolder.
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

  /** Starts only the server, after `kill`, on the same ports and the same database. */
  async start(): Promise<void> {
    const given = this.ports;
    for (let attempt = 1; ; attempt += 1) {
      this.ports = given ?? (await lowPorts(PORT_VARIABLES.length));
      try {
        await this.launch(this.ports);
        return;
      } catch (error) {
        await this.kill('SIGKILL');
        if (!(error instanceof TemporalServerError) || attempt === MAX_TRIES) throw error;
      }
    }
  }

  /** Kills only the server and waits for its end. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    await endProcess(this.child, signal);
  }

  /** Stops the server and the database. */
  async stop(): Promise<void> {
    await stopProcess(this.child, STOP_LIMIT_MS);
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
    killWithParent(child);
    const isGone = () => hasEnded(child);
    if (!(await untilNamespace(this.address, this.namespace, isGone)) || !(await this.answers(isGone)))
      throw new TemporalServerError(`the Temporal server did not start:\n${this.logTail()}`);
  }

  /** The variables of the server's Docker image. Without a configuration file, the server reads everything from them. */
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
    return untilReady({
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

/** Clients use the first port. */
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

/** The server stores its ports as small integers, for which the ports that the system picks are too high. */
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

/** Like deploy/temporal/namespace.sh: creates the namespace and missing search attributes. */
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
      // The server is still starting.
    } finally {
      await connection?.close();
    }
  }
  return false;
}
