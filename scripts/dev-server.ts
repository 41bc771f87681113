/**
 * The Temporal dev server as a child process, for the demo, the tests and the benchmarks: on free loopback
 * ports, with task priorities and the project's search attributes. It never outlives the process that
 * started it, even if that process is killed.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SEARCH_ATTRIBUTES } from '../src/temporal/namespace.ts';
import { type Child, type Command, startOnPorts } from './child-process.ts';
import { loopback } from './dev-server/ports.ts';
import { isUsable } from './dev-server/readiness.ts';
import { findTemporalCli } from './setup/temporal-cli.ts';

export interface DevServerOptions {
  /** The binary. Absent: one is found or installed. */
  cliPath?: string | undefined;
  /** A SQLite file to keep. Absent: a temporary file, which `stop` deletes. */
  dbFile?: string | undefined;
  /** Serve the Web UI, default true. */
  ui?: boolean | undefined;
  /** The server's log. Absent: a temporary file. */
  logFile?: string | undefined;
  /** Default: `warn`. */
  logLevel?: 'debug' | undefined;
  /** The codec server that the Web UI uses. */
  codecEndpoint?: string | undefined;
  /** Added to the project's own dynamic configuration, e.g. `{ 'frontend.namespaceRPS': 5000 }`. */
  dynamicConfig?: Readonly<Record<string, unknown>> | undefined;
  /** Of the server and the Web UI. Default: free ones. */
  ports?: readonly number[] | undefined;
  /** Of Temporal's HTTP API. Default: a free one. */
  httpPort?: number | undefined;
  /** The port of the server's metrics. Default: a free one. */
  metricsPort?: number | undefined;
  /** Starts a dev server even if TEMPORAL_ADDRESS names a running server. */
  always?: boolean | undefined;
  /** Cores for the server: one leaves more to the other processes of a small machine. Default: all. */
  cores?: number | undefined;
}

export interface DevServer {
  readonly address: string;
  readonly uiUrl: string;
  readonly namespace: string;
  readonly logFile: string | undefined;
  /** Absent for a server that we did not start. */
  readonly pid: number | undefined;
  /** Stops gracefully, and by force after half a minute. Leaves a server that we did not start alone. */
  stop(): Promise<void>;
  /** Sends the signal and waits for the process to end, except after SIGSTOP or SIGCONT. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Starts the server again, running or not, on the same ports and the same file. */
  restart(): Promise<void>;
}

/** The same as in deploy/temporal/dynamicconfig, which explains each. */
export const DYNAMIC_CONFIG: Readonly<Record<string, unknown>> = {
  'matching.useNewMatcher': true,
  'matching.enableFairness': true,
  'matching.numTaskqueueReadPartitions': 1,
  'matching.numTaskqueueWritePartitions': 1,
  'frontend.namespaceCount': 10_000,
  'system.enableActivityEagerExecution': true,
  'history.timerProcessorMaxTimeShift': '100ms',
};
/**
 * A dev server has one history shard. When more than 100 of its timers expire in one second, the server hands them to a
 * slower reader, which takes up to 7 s: the next owner of a rate-limit lease would get it that much later.
 */
const ONE_SHARD: Readonly<Record<string, unknown>> = { 'history.queueReaderStuckCriticalAttempts': 0 };
const UI_PORT_OFFSET = 1000;

export async function startDevServer(options: DevServerOptions = {}): Promise<DevServer> {
  const existing = options.always ? undefined : existingServer(process.env);
  if (existing) return existing;
  const server = new OwnDevServer(options.cliPath ?? (await findTemporalCli()), options);
  try {
    await server.start();
  } catch (error) {
    await server.stop();
    throw error;
  }
  return server;
}

class OwnDevServer implements DevServer {
  readonly namespace = 'default';
  readonly logFile: string;
  /**
   * Never in memory: a request that is canceled at the wrong moment makes the server drop its only connection, and with
   * it the database (temporalio/temporal#10427).
   */
  private readonly dbFile: string;
  /** Temporary files, deleted when the server stops. */
  private readonly folder: string;
  private readonly cliPath: string;
  private readonly options: DevServerOptions;
  private ports: readonly number[] | undefined;
  private child: Child | undefined;

  constructor(cliPath: string, options: DevServerOptions) {
    this.cliPath = cliPath;
    this.options = options;
    this.folder = mkdtempSync(join(tmpdir(), 'payouts-engine-'));
    this.logFile = options.logFile ?? join(this.folder, 'temporal.log');
    this.dbFile = options.dbFile ?? join(this.folder, 'temporal.db');
    this.ports = options.ports;
  }

  get address(): string {
    return loopback(this.ports?.[0]);
  }

  get uiUrl(): string {
    return `http://${loopback(this.ports?.[1])}`;
  }

  get pid(): number | undefined {
    return this.child?.pid;
  }

  async start(): Promise<void> {
    // `stop` deletes the folder, and the server may start again.
    mkdirSync(this.folder, { recursive: true });
    const started = await startOnPorts(this.ports, 2, (ports) => this.command(ports));
    ({ child: this.child, ports: this.ports } = started);
  }

  async stop(): Promise<void> {
    await this.child?.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    await this.child?.kill(signal);
  }

  async restart(): Promise<void> {
    await this.child?.stop();
    await this.start();
  }

  private command([frontend = 0, ui = 0]: readonly number[]): Command {
    const { cores } = this.options;
    // The CLI also reads these variables, which are meant for clients.
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('TEMPORAL_'));
    const uiUrl = `http://${loopback(ui)}`;
    const hasUi = async () =>
      this.options.ui === false ||
      (await fetch(uiUrl, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined))?.ok === true;
    return {
      name: 'the Temporal dev server',
      program: this.cliPath,
      args: serverArguments({ ...this.options, dbFile: this.dbFile }, frontend, ui),
      env: {
        ...Object.fromEntries(inherited),
        ...(cores !== undefined && { GOMAXPROCS: `${cores}` }),
      },
      logFile: this.logFile,
      isReady: async () => (await isUsable(loopback(frontend), this.namespace)) && (await hasUi()),
    };
  }
}

function serverArguments(
  options: DevServerOptions & { dbFile: string },
  frontend: number,
  ui: number,
): string[] {
  const dynamic = Object.entries({ ...DYNAMIC_CONFIG, ...ONE_SHARD, ...options.dynamicConfig });
  return [
    ...['server', 'start-dev', '--ip', '127.0.0.1', '--port', `${frontend}`],
    ...['--log-level', options.logLevel ?? 'warn'],
    ...(options.httpPort === undefined ? [] : ['--http-port', `${options.httpPort}`]),
    ...(options.metricsPort === undefined ? [] : ['--metrics-port', `${options.metricsPort}`]),
    ...(options.ui === false ? ['--headless'] : ['--ui-port', `${ui}`]),
    ...(options.codecEndpoint ? ['--ui-codec-endpoint', options.codecEndpoint] : []),
    ...['--db-filename', options.dbFile],
    ...['--sqlite-pragma', 'synchronous=OFF', '--sqlite-pragma', 'journal_mode=WAL'],
    ...dynamic.flatMap(([key, value]) => ['--dynamic-config-value', `${key}=${JSON.stringify(value)}`]),
    ...Object.entries(SEARCH_ATTRIBUTES).flatMap(([name, type]) => ['--search-attribute', `${name}=${type}`]),
  ];
}

/** The server that TEMPORAL_ADDRESS names, if any. It stays as it is. */
function existingServer(env: Readonly<Record<string, string | undefined>>): DevServer | undefined {
  const address = env['TEMPORAL_ADDRESS'];
  if (!address) return undefined;
  return {
    address,
    uiUrl: assumedUiUrl(address),
    namespace: env['TEMPORAL_NAMESPACE'] || 'default',
    logFile: undefined,
    pid: undefined,
    stop: async () => {},
    kill: () => Promise.reject(new Error('this Temporal server was started elsewhere')),
    restart: () => Promise.reject(new Error('this Temporal server was started elsewhere')),
  };
}

/** Dev servers and the compose file serve the UI 1,000 ports above the frontend. */
function assumedUiUrl(address: string): string {
  const [, host = 'localhost', port = '7233'] = /^(?:\w+:\/\/)?(.*?)(?::(\d+))?$/.exec(address) ?? [];
  return `http://${host}:${Number(port) + UI_PORT_OFFSET}`;
}
