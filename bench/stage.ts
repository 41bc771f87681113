/**
 * The processes of a benchmark: a Temporal dev server, a strict simulator, workers, and an API server that receives
 * notifications.
 */

import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { type Elsewhere, endProcess, killWithParent, startProgram } from '../scripts/child-process.ts';
import { freePorts } from '../scripts/dev-server/ports.ts';
import { type DevServer, startDevServer } from '../scripts/dev-server.ts';
import { setFirstSettings } from '../scripts/first-settings.ts';
import { bundledWorkflows, compilePrograms } from '../scripts/programs.ts';
import { type SimulatorControlClient, simulatorControl } from '../simulator/control/client.ts';
import { Payouts } from '../src/client/payouts.ts';
import { encryptionKeys } from '../src/config/keys.ts';
import { dataConverter } from '../src/encryption/payload-codec.ts';
import { PROCESS_RUNTIME } from '../src/runtime/process.ts';
import { clientInterceptors } from '../src/temporal/queries.ts';

export interface StageOptions {
  /** Names of applications; each has its own rate limit. */
  apps?: readonly string[];
  workers: number;
  simulator?: Record<string, unknown>;
  env?: Record<string, string>;
  dynamicConfig?: Readonly<Record<string, unknown>>;
  /** The program that a worker process runs. */
  program?: string;
  /** The Temporal server stores everything in a file, and can be killed. */
  lasting?: boolean;
  /** False: no notifications, so polls learn everything. */
  notified?: boolean;
  /** The port of the Temporal server's metrics. */
  metricsPort?: number;
}

export interface BenchStage {
  temporal: DevServer;
  client: Client;
  payouts: Payouts;
  simulator: SimulatorControlClient;
  workers: ChildProcess[];
  apiServer: ChildProcess;
  /** Without a slash at the end. */
  apiUrl: string;
  /** With a program, its environment is added to that of the stage. */
  startWorker(program?: Elsewhere, env?: Record<string, string>): Promise<ChildProcess>;
  startApiServer(): Promise<ChildProcess>;
}

const SECRET = 'bench-secret';
const KEY = `bench:${Buffer.alloc(32, 'bench').toString('base64')}`;

let version = '(unknown version)';

/** The version of the Temporal server that was started last. */
export function temporalVersion(): string {
  return version;
}

/** Ends what runs now, the newest first. */
const cleanups: (() => unknown)[] = [];

/** Folders of logs that are removed after a success. */
const folders = new Set<string>();

function removeLogs(): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  folders.clear();
}

/** Ends everything that a stage has started so far. */
async function endEverything(): Promise<void> {
  for (let end = cleanups.pop(); end; end = cleanups.pop()) await end();
}

/** Ends everything and this process on SIGINT, SIGTERM and SIGHUP. */
export function endWhenInterrupted(told: () => void = () => undefined): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => {
      told();
      void endEverything().finally(() => {
        removeLogs();
        process.exit(130);
      });
    });
}

/**
 * Starts the processes, runs `work`, and ends everything. Keeps the logs only after a failure, and names their folder in the
 * error.
 */
export async function withStage<T>(
  options: StageOptions,
  work: (stage: BenchStage) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'payouts-bench-'));
  folders.add(folder);
  try {
    const result = await work(await startStage(options, folder));
    await endEverything();
    removeLogs();
    return result;
  } catch (error) {
    await endEverything();
    folders.delete(folder);
    throw new Error(`${error instanceof Error ? error.message : String(error)} (logs in ${folder})`, {
      cause: error,
    });
  }
}

async function startStage(options: StageOptions, folder: string): Promise<BenchStage> {
  const apps = options.apps ?? ['default'];
  await compilePrograms();
  const [simulatorPort = 0, apiPort = 0] = await freePorts(2);
  const [simulatorUrl = '', apiUrl = ''] = [simulatorPort, apiPort].map((port) => `http://127.0.0.1:${port}`);
  const temporal = await startDevServer({
    always: true,
    ui: false,
    logFile: join(folder, 'temporal.log'),
    dbFile: options.lasting ? join(folder, 'temporal.db') : undefined,
    dynamicConfig: options.dynamicConfig,
    metricsPort: options.metricsPort,
  });
  cleanups.push(() => temporal.stop());
  await runProgram(folder, 'simulator/main.ts', {
    SIMULATOR_LISTEN: `127.0.0.1:${simulatorPort}`,
    SIMULATOR_APPS: JSON.stringify(
      apps.map((app) => ({
        appId: `app-${app}`,
        appSecret: SECRET,
        ...(options.notified !== false && { notifyUrl: `${apiUrl}/v1/notifications/${app}` }),
      })),
    ),
    SIMULATOR_SETTINGS: JSON.stringify(options.simulator ?? {}),
  });
  const environment: Record<string, string> = {
    TEMPORAL_ADDRESS: temporal.address,
    PAYMENTS_ENVIRONMENT: 'test',
    PAYMENTS_CLIENT_PAIRS: 'trusted',
    PAYMENTS_BASE_URL: simulatorUrl,
    PAYMENTS_AUTH_URL: simulatorUrl,
    PAYOUTS_API_LISTEN: `127.0.0.1:${apiPort}`,
    PAYOUTS_LOG_LEVEL: 'error',
    PAYOUTS_WORKFLOW_BUNDLE: await bundledWorkflows(),
    // A rate-limited create is confirmed over this window before it is sent again.
    PAYOUTS_CONFIRMATION_WINDOW: '5s',
    // As users have them. The programs to compare with encrypt nothing.
    ...(options.program === undefined && { PAYOUTS_ENCRYPTION_KEYS: KEY }),
    ...applications(apps, folder),
    ...options.env,
  };
  const connection = await Connection.connect({ address: temporal.address });
  cleanups.push(() => connection.close());
  const { clock, random } = PROCESS_RUNTIME;
  const client = new Client({
    connection,
    dataConverter: dataConverter(encryptionKeys(environment).payloads, random),
    interceptors: clientInterceptors(clock),
  });
  const startWorker = async (
    program: string | Elsewhere = options.program ?? 'src/workers/main.ts',
    env: Record<string, string> = {},
  ) => {
    const keys = options.program === undefined ? { PAYOUTS_TOKEN_KEYS: KEY } : {};
    const worker = await runProgram(folder, program, { ...environment, ...keys, ...env });
    // The plain worker has no lease.
    if (options.program === undefined) await setFirstSettings(client, environment);
    return worker;
  };
  const workers = await Promise.all(Array.from({ length: options.workers }, () => startWorker()));
  const startApiServer = () => runProgram(folder, 'src/starters/api/main.ts', environment);
  const apiServer = await startApiServer();
  const { serverVersion } = await connection.workflowService.getSystemInfo({});
  if (serverVersion) version = serverVersion;
  return {
    temporal,
    client,
    payouts: new Payouts({ client, environment: 'test' }),
    simulator: simulatorControl(simulatorUrl),
    workers,
    apiServer,
    apiUrl,
    startWorker,
    startApiServer,
  };
}

/** The program ends with this process in any case. */
async function runProgram(
  folder: string,
  program: string | Elsewhere,
  env: Record<string, string>,
): Promise<ChildProcess> {
  const known = { PATH: process.env['PATH'], HOME: process.env['HOME'] };
  const name = typeof program === 'string' ? program.replaceAll('/', '-') : 'elsewhere';
  const logFile = join(folder, `${name}-${cleanups.length}.log`);
  return startProgram(program, { ...known, ...env }, logFile, (child) => {
    killWithParent(child);
    cleanups.push(() => endProcess(child, 'SIGKILL'));
  });
}

function applications(apps: readonly string[], folder: string): Record<string, string> {
  if (apps.length === 1 && apps[0] === 'default')
    return { PAYMENTS_APP_ID: 'app-default', PAYMENTS_APP_SECRET: SECRET };
  const file = join(folder, 'apps.json');
  const entries = apps.map((app) => [app, { appId: `app-${app}`, appSecret: 'env:BENCH_SECRET' }]);
  writeFileSync(file, JSON.stringify(Object.fromEntries(entries)));
  return { PAYOUTS_APPS_FILE: file, BENCH_SECRET: SECRET };
}
