/**
 * The production Temporal server with PostgreSQL as child processes on loopback ports: the equivalent of
 * docker-compose.yml without Docker, with the same dynamic configuration. Like the dev server, it never outlives the
 * process that started it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SEARCH_ATTRIBUTES } from '../src/temporal/namespace.ts';
import { endProcess, hasEnded, stopProcess } from './child-process.ts';
import { freePorts, loopback } from './dev-server/ports.ts';
import { untilReady } from './dev-server/readiness.ts';
import { killWithParent } from './dev-server/watchdog.ts';
import { findTemporalServer } from './setup/go-programs.mjs';
import { projectRoot } from './setup/process.mjs';
import { loopbackEnvironment, PORT_VARIABLES, TEMPORAL_SETTINGS } from './temporal-server/environment.ts';
import { READY_LIMIT_MS, untilNamespace } from './temporal-server/namespace.ts';
import { lowPorts } from './temporal-server/ports.ts';
import { Postgres } from './temporal-server/postgres.ts';
import { createSchemas } from './temporal-server/schemas.ts';

export const DYNAMIC_CONFIG_FILE = join(projectRoot, 'deploy/temporal/dynamicconfig/payouts.yaml');
/** All roles in one process. Clients use the first port. */
const VARIABLES = Object.values(PORT_VARIABLES).flat();
const STOP_LIMIT_MS = 15_000;
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
      this.ports = given ?? (await lowPorts(VARIABLES.length));
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
    if (
      !(await untilNamespace({ address: this.address }, this.namespace, isGone)) ||
      !(await this.answers(isGone))
    )
      throw new TemporalServerError(`the Temporal server did not start:\n${this.logTail()}`);
  }

  private environment(ports: readonly number[]): NodeJS.ProcessEnv {
    return {
      ...loopbackEnvironment({
        databasePort: this.database.port,
        dynamicConfigFile: this.options.dynamicConfigFile ?? DYNAMIC_CONFIG_FILE,
        variables: VARIABLES,
        ports,
      }),
      NUM_HISTORY_SHARDS: `${this.options.historyShards ?? TEMPORAL_SETTINGS.NUM_HISTORY_SHARDS}`,
      LOG_LEVEL: this.options.logLevel ?? TEMPORAL_SETTINGS.LOG_LEVEL,
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
