/**
 * The production Temporal server with PostgreSQL as child processes on loopback ports: the equivalent of
 * docker-compose.yml without Docker, with the same dynamic configuration. Like the dev server, it never outlives the
 * process that started it.
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Child, type Command, startOnPorts } from './child-process.ts';
import { freePorts, loopback } from './dev-server/ports.ts';
import { createsNamespace, isUsable } from './dev-server/readiness.ts';
import { findTemporalServer } from './setup/go-programs.ts';
import { projectRoot } from './setup/process.mjs';
import { loopbackEnvironment, PORT_VARIABLES, TEMPORAL_SETTINGS } from './temporal-server/environment.ts';
import { Postgres } from './temporal-server/postgres.ts';
import { createSchemas } from './temporal-server/schemas.ts';

export const DYNAMIC_CONFIG_FILE = join(projectRoot, 'deploy/temporal/dynamicconfig/payouts.yaml');
/** All roles in one process. Clients use the first port. */
const VARIABLES = Object.values(PORT_VARIABLES).flat();

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
  private ports: readonly number[] | undefined;
  private child: Child | undefined;

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
    const started = await startOnPorts(this.ports, VARIABLES.length, (ports) => this.command(ports));
    ({ child: this.child, ports: this.ports } = started);
  }

  /** Kills only the server and waits for its end. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    await this.child?.kill(signal);
  }

  /** Stops the server and the database. */
  async stop(): Promise<void> {
    await this.child?.stop();
    await this.database.stop();
    if (this.options.folder === undefined) rmSync(this.folder, { recursive: true, force: true });
  }

  private command(ports: readonly number[]): Command {
    const { dynamicConfigFile = DYNAMIC_CONFIG_FILE, historyShards, logLevel } = this.options;
    const databasePort = this.database.port;
    const address = loopback(ports[0]);
    return {
      name: 'the Temporal server',
      program: this.program,
      args: ['--allow-no-auth', 'start'],
      env: {
        ...loopbackEnvironment({ databasePort, dynamicConfigFile, variables: VARIABLES, ports }),
        NUM_HISTORY_SHARDS: `${historyShards ?? TEMPORAL_SETTINGS.NUM_HISTORY_SHARDS}`,
        LOG_LEVEL: logLevel ?? TEMPORAL_SETTINGS.LOG_LEVEL,
      },
      logFile: this.logFile,
      isReady: async () =>
        (await createsNamespace({ address }, this.namespace)) && (await isUsable(address, this.namespace)),
    };
  }
}
