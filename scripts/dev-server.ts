/**
 * The Temporal dev server as a child process, for the demo, the tests and the benches: on free loopback
 * ports, with task priorities and the project's search attributes. It never outlives the process that
 * started it, however that one ends.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SEARCH_ATTRIBUTES } from '../src/temporal/search-attributes.ts';
import { existingEngine } from './dev-server/existing.ts';
import { freePorts, loopback } from './dev-server/ports.ts';
import { untilItAnswers } from './dev-server/readiness.ts';
import { guard } from './dev-server/watchdog.ts';
import { endOwn, hasEnded, stopOwn } from './own-process.ts';
import { findTemporalCli } from './setup/temporal-cli.mjs';

export interface DevServerOptions {
  /** The binary; found or obtained otherwise. */
  cliPath?: string | undefined;
  /** SQLite file, kept; a temporary one otherwise, which `stop` removes. */
  dbFile?: string | undefined;
  /** Serve the Web UI, default true. */
  ui?: boolean | undefined;
  /** Where the server's own log goes; a new temporary file otherwise. */
  logFile?: string | undefined;
  /** How much of it; `warn` otherwise. */
  logLevel?: 'debug' | undefined;
  /** Where the Web UI asks for decoded payloads. */
  codecEndpoint?: string | undefined;
  /** On top of the project's own, each value as JSON: `{ 'frontend.namespaceRPS': 5000 }`. */
  dynamicConfig?: Readonly<Record<string, unknown>> | undefined;
  /** Default: free ones. */
  ports?: { frontend: number; ui: number } | undefined;
  /** Start one even where TEMPORAL_ADDRESS names an engine that already runs. */
  always?: boolean | undefined;
}

export interface DevServer {
  readonly address: string;
  readonly uiUrl: string;
  readonly namespace: string;
  readonly logFile: string | undefined;
  /** Absent where the engine is not ours. */
  readonly pid: number | undefined;
  /** In good order; by force after 10 s. Does nothing to an engine that is not ours. */
  stop(): Promise<void>;
  /** Sends the signal; waits for the end unless it is SIGSTOP or SIGCONT. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Starts it again, after `kill` or `stop` or while it runs: same ports, same file. */
  restart(): Promise<void>;
}

/** The same as in deploy/temporal/dynamicconfig, where each has its reason. */
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
/** Another process may take a free port before the server does. */
const TRIES = 5;

/** Thrown when the server does not come up; holds the end of its log. */
export class DevServerError extends Error {
  override readonly name = 'DevServerError';
}

export async function startDevServer(options: DevServerOptions = {}): Promise<DevServer> {
  const existing = options.always ? undefined : existingEngine(process.env);
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
   * Never in memory: a request that is cancelled at the wrong moment makes the server drop its one connection, and the
   * database with it (temporalio/temporal#10427).
   */
  private readonly dbFile: string;
  /** Of what nobody has a place for; it goes when the server stops. */
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
    this.logFile = options.logFile ?? join(this.folder, 'engine.log');
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

  /** Given ports are kept through every try; free ones are looked for anew. */
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
        if (!(error instanceof DevServerError) || attempt === TRIES) throw error;
      }
    }
  }

  async stop(): Promise<void> {
    await stopOwn(this.child, STOP_LIMIT_MS);
    rmSync(this.folder, { recursive: true, force: true });
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    if (signal === 'SIGSTOP' || signal === 'SIGCONT') this.child?.kill(signal);
    else await endOwn(this.child, signal);
  }

  async restart(): Promise<void> {
    await stopOwn(this.child, STOP_LIMIT_MS);
    await this.start();
  }

  private async launch(frontend: number, ui: number): Promise<void> {
    // One that was stopped, and starts again, finds its folder gone.
    mkdirSync(this.folder, { recursive: true });
    const log = openSync(this.logFile, 'a');
    // In a process group of its own: Ctrl-C is for the program in front, which stops its engine last.
    const child = spawn(
      this.cliPath,
      serverArguments({ ...this.options, dbFile: this.dbFile }, frontend, ui),
      {
        detached: true,
        stdio: ['ignore', log, log],
        env: withoutTemporalVariables(process.env),
      },
    );
    closeSync(log);
    this.child = child;
    await once(child, 'spawn');
    child.unref();
    guard(child);
    const answered = await Promise.race([
      once(child, 'exit').then(() => false),
      untilItAnswers({
        address: loopback(frontend),
        namespace: this.namespace,
        searchAttributes: Object.keys(SEARCH_ATTRIBUTES),
        uiUrl: this.options.ui === false ? undefined : this.uiUrl,
        isGone: () => hasEnded(child),
        limitMs: READY_LIMIT_MS,
      }),
    ]);
    if (!answered) throw new DevServerError(`the Temporal dev server did not start:\n${this.logTail()}`);
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
    ...(options.ui === false ? ['--headless'] : ['--ui-port', `${ui}`]),
    ...(options.codecEndpoint ? ['--ui-codec-endpoint', options.codecEndpoint] : []),
    ...['--db-filename', options.dbFile, '--sqlite-pragma', 'synchronous=OFF'],
    ...dynamic.flatMap(([key, value]) => ['--dynamic-config-value', `${key}=${JSON.stringify(value)}`]),
    ...Object.entries(SEARCH_ATTRIBUTES).flatMap(([name, type]) => ['--search-attribute', `${name}=${type}`]),
  ];
}

/** The CLI reads the same variables as its clients do; none of them is meant for the server. */
function withoutTemporalVariables(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_')));
}
