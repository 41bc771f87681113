/** What a bench runs on: a Temporal dev server, a strict simulator, worker processes, and the notification receiver. */

import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { endProcess, startProgram } from '../scripts/child-process.ts';
import { freePorts } from '../scripts/dev-server/ports.ts';
import { killWithParent } from '../scripts/dev-server/watchdog.ts';
import { type DevServer, startDevServer } from '../scripts/dev-server.ts';
import { bundledWorkflows, compilePrograms } from '../scripts/programs.ts';
import { type SimulatorControlClient, simulatorControl } from '../simulator/control-client.ts';
import { Payouts } from '../src/client/payouts.ts';
import { PROCESS_SURROUNDINGS } from '../src/surroundings/process.ts';
import { clientInterceptors } from '../src/temporal/queries.ts';

export interface StageOptions {
  /** Names of applications; each has the limit of its own. */
  apps?: readonly string[];
  workers: number;
  simulator?: Record<string, unknown>;
  env?: Record<string, string>;
  dynamicConfig?: Readonly<Record<string, unknown>>;
  /** The program that a worker process runs. */
  program?: string;
  /** The engine keeps everything in a file, and may be killed. */
  lasting?: boolean;
  /** Without it nothing is notified, and everything is learned by polls. */
  notified?: boolean;
}

export interface BenchStage {
  engine: DevServer;
  client: Client;
  payouts: Payouts;
  simulator: SimulatorControlClient;
  workers: ChildProcess[];
  service: ChildProcess;
  startWorker(): Promise<ChildProcess>;
  startService(): Promise<ChildProcess>;
}

const SECRET = 'bench-secret';

let version = 'of unknown version';

/** Of the engine that was started last. */
export function engineVersion(): string {
  return version;
}

/** How to end whatever runs now, the last one first. */
const endings: (() => unknown)[] = [];

/** Of logs that nobody will want to read. */
const folders = new Set<string>();

function removeLogs(): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  folders.clear();
}

/** Ends all that a stage has started, as far as it had come. */
async function endEverything(): Promise<void> {
  for (let end = endings.pop(); end; end = endings.pop()) await end();
}

/** On Ctrl-C and the like: everything ends, and so does this process. */
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

/** Sets up, works, and ends everything; the logs are kept only where it failed, and then named. */
export async function withStage<T>(
  options: StageOptions,
  work: (stage: BenchStage) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'payouts-bench-'));
  folders.add(folder);
  try {
    const result = await work(await setStage(options, folder));
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

async function setStage(options: StageOptions, folder: string): Promise<BenchStage> {
  const apps = options.apps ?? ['default'];
  compilePrograms();
  const [simulatorPort = 0, servicePort = 0] = await freePorts(2);
  const [simulatorUrl = '', serviceUrl = ''] = [simulatorPort, servicePort].map(
    (port) => `http://127.0.0.1:${port}`,
  );
  const engine = await startDevServer({
    always: true,
    ui: false,
    logFile: join(folder, 'engine.log'),
    dbFile: options.lasting ? join(folder, 'engine.db') : undefined,
    dynamicConfig: options.dynamicConfig,
  });
  endings.push(() => engine.stop());
  await runProgram(folder, 'simulator/main.ts', {
    SIMULATOR_LISTEN: `127.0.0.1:${simulatorPort}`,
    SIMULATOR_APPS: JSON.stringify(
      apps.map((app) => ({
        appId: `app-${app}`,
        appSecret: SECRET,
        ...(options.notified !== false && { notifyUrl: `${serviceUrl}/v1/notifications/${app}` }),
      })),
    ),
    SIMULATOR_SETTINGS: JSON.stringify(options.simulator ?? {}),
  });
  const environment: Record<string, string> = {
    TEMPORAL_ADDRESS: engine.address,
    PAYMENTS_ENVIRONMENT: 'test',
    PAYMENTS_BASE_URL: simulatorUrl,
    PAYMENTS_AUTH_URL: simulatorUrl,
    PAYOUTS_API_LISTEN: `127.0.0.1:${servicePort}`,
    PAYOUTS_LOG_LEVEL: 'error',
    PAYOUTS_WORKFLOW_BUNDLE: await bundledWorkflows(),
    // A create that was turned away is asked about over this window before it is sent again.
    PAYOUTS_CONFIRMATION_WINDOW: '5s',
    ...jitterOfThisMachine(),
    ...applications(apps, folder),
    ...options.env,
  };
  const startWorker = () => runProgram(folder, options.program ?? 'src/workers/main.ts', environment);
  const workers = await Promise.all(Array.from({ length: options.workers }, startWorker));
  const startService = () => runProgram(folder, 'src/starters/api/main.ts', environment);
  const service = await startService();
  const connection = await Connection.connect({ address: engine.address });
  endings.push(() => connection.close());
  const { serverVersion } = await connection.workflowService.getSystemInfo({});
  if (serverVersion) version = serverVersion;
  const client = new Client({ connection, interceptors: clientInterceptors(PROCESS_SURROUNDINGS.clock) });
  return {
    engine,
    client,
    payouts: new Payouts({ client, environment: 'test' }),
    simulator: simulatorControl(simulatorUrl),
    workers,
    service,
    startWorker,
    startService,
  };
}

/** Gone with this process, however that one ends. */
async function runProgram(
  folder: string,
  program: string,
  env: Record<string, string>,
): Promise<ChildProcess> {
  const known = { PATH: process.env['PATH'], HOME: process.env['HOME'] };
  const logFile = join(folder, `${program.replaceAll('/', '-')}-${endings.length}.log`);
  return startProgram(program, { ...known, ...env }, logFile, (child) => {
    killWithParent(child);
    endings.push(() => endProcess(child, 'SIGKILL'));
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

/** For a trial on a machine that does other things too: none by default. */
function jitterOfThisMachine(): Record<string, string> {
  const { PAYMENTS_ARRIVAL_JITTER: jitter } = process.env;
  return jitter === undefined ? {} : { PAYMENTS_ARRIVAL_JITTER: jitter };
}
