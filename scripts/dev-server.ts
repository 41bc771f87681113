/**
 * The Temporal dev server as a child process, for the demo, the tests and the benchmarks: on free loopback
 * ports, with task priorities and the project's search attributes. It never outlives the process that
 * started it, even if that process is killed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SEARCH_ATTRIBUTES } from '../src/temporal/namespace.ts';
import { endProcess, hasEnded, stopProcess } from './child-process.ts';
import { freePorts, loopback } from './dev-server/ports.ts';
import { untilReady } from './dev-server/readiness.ts';
import { killWithParent } from './dev-server/watchdog.ts';
import { findTemporalCli } from './setup/temporal-cli.mjs';

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
  /** Default: free ports. */
  ports?: { frontend: number; ui: number } | undefined;
  /** Of Temporal's HTTP API. Default: a free one. */
  httpPort?: number | undefined;
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
  /** Stops gracefully, and by force after 10 s. Leaves a server that we did not start alone. */
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
  'system.enableActivityEagerExecution': true,
  'history.timerProcessorMaxTimeShift': '100ms',
};
const READY_LIMIT_MS = 60_000;
const STOP_LIMIT_MS = 10_000;
const UI_PORT_OFFSET = 1000;
/** Another process may take a free port before the server does. */
const MAX_TRIES = 5;

/** Thrown if the server does not start; its message holds the end of the log. */
export class DevServerError extends Error {
  override readonly name = 'DevServerError';
}

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
  private ports: { frontend: number; ui: number } | undefined;
  private child: ChildProcess | undefined;

  constructor(cliPath: string, options: DevServerOptions) {
    this.cliPath = cliPath;
    this.options = options;
    this.ports = options.ports;
    this.folder = mkdtempSync(join(tmpdir(), 'payouts-engine-'));
    this.logFile = options.logFile ?? join(this.folder, 'temporal.log');
    this.dbFile = options.dbFile ?? join(this.folder, 'temporal.db');
  }

  get address(): string {
    return loopback(this.ports?.frontend);
  }

  get uiUrl(): string {
    return `http://${loopback(this.ports?.ui)}`;
  }

  get pid(): number | undefined {
    return this.child?.pid;
  }

  /** Every try uses the given ports, or new free ones if none are given. */
  async start(): Promise<void> {
    const given = this.ports;
    for (let attempt = 1; ; attempt += 1) {
      const [frontend = 0, ui = 0] = given ? [given.frontend, given.ui] : await freePorts(2);
      this.ports = { frontend, ui };
      try {
        await this.launch(frontend, ui);
        return;
      } catch (error) {
        await this.kill('SIGKILL');
        if (!(error instanceof DevServerError) || attempt === MAX_TRIES) throw error;
      }
    }
  }

  async stop(): Promise<void> {
    await stopProcess(this.child, STOP_LIMIT_MS);
    rmSync(this.folder, { recursive: true, force: true });
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    if (signal === 'SIGSTOP' || signal === 'SIGCONT') this.child?.kill(signal);
    else await endProcess(this.child, signal);
  }

  async restart(): Promise<void> {
    await stopProcess(this.child, STOP_LIMIT_MS);
    await this.start();
  }

  private async launch(frontend: number, ui: number): Promise<void> {
    // `stop` deletes the folder, and the server may start again.
    mkdirSync(this.folder, { recursive: true });
    const log = openSync(this.logFile, 'a');
    // A process group of its own: Ctrl-C goes to the foreground program, which stops the server last.
    const child = spawn(
      this.cliPath,
      serverArguments({ ...this.options, dbFile: this.dbFile }, frontend, ui),
      {
        detached: true,
        stdio: ['ignore', log, log],
        env: {
          ...withoutTemporalVariables(process.env),
          ...(this.options.cores !== undefined && { GOMAXPROCS: `${this.options.cores}` }),
        },
      },
    );
    closeSync(log);
    this.child = child;
    await once(child, 'spawn');
    child.unref();
    killWithParent(child);
    const isReady = await Promise.race([
      once(child, 'exit').then(() => false),
      untilReady({
        address: loopback(frontend),
        namespace: this.namespace,
        searchAttributes: Object.keys(SEARCH_ATTRIBUTES),
        uiUrl: this.options.ui === false ? undefined : this.uiUrl,
        isGone: () => hasEnded(child),
        limitMs: READY_LIMIT_MS,
      }),
    ]);
    if (!isReady) throw new DevServerError(`the Temporal dev server did not start:\n${this.logTail()}`);
  }

  private logTail(): string {
    return readFileSync(this.logFile, 'utf8').trim().split('\n').slice(-10).join('\n');
  }
}

function serverArguments(
  options: DevServerOptions & { dbFile: string },
  frontend: number,
  ui: number,
): string[] {
  const dynamic = Object.entries({ ...DYNAMIC_CONFIG, ...options.dynamicConfig });
  return [
    ...[
      'server',
      'start-dev',
      '--ip',
      '127.0.0.1',
      '--port',
      `${frontend}`,
      '--log-level',
      options.logLevel ?? 'warn',
    ],
    ...(options.httpPort === undefined ? [] : ['--http-port', `${options.httpPort}`]),
    ...(options.ui === false ? ['--headless'] : ['--ui-port', `${ui}`]),
    ...(options.codecEndpoint ? ['--ui-codec-endpoint', options.codecEndpoint] : []),
    ...['--db-filename', options.dbFile],
    ...['--sqlite-pragma', 'synchronous=OFF', '--sqlite-pragma', 'journal_mode=WAL'],
    ...dynamic.flatMap(([key, value]) => ['--dynamic-config-value', `${key}=${JSON.stringify(value)}`]),
    ...Object.entries(SEARCH_ATTRIBUTES).flatMap(([name, type]) => ['--search-attribute', `${name}=${type}`]),
  ];
}

/** The CLI also reads these variables, which are meant for clients. */
function withoutTemporalVariables(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_')));
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
