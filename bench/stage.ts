/** What a bench runs on: an engine in memory, a strict simulator, worker processes, and the notification receiver. */
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { freePorts } from '../scripts/dev-server/ports.ts';
import { type DevServer, startDevServer } from '../scripts/dev-server.ts';
import { endOwn, startOwn } from '../scripts/own-process.ts';
import { type SimulatorControlClient, simulatorControl } from '../simulator/control-client.ts';
import { Payouts } from '../src/starters/payouts.ts';

export interface StageOptions {
  /** Names of applications; each has the limit of its own. */
  apps?: readonly string[];
  workers: number;
  simulator?: Record<string, unknown>;
  env?: Record<string, string>;
  dynamicConfig?: Readonly<Record<string, unknown>>;
  /** The program that a worker process runs. */
  program?: string;
  /** Without it nothing is notified, and everything is learned by polls. */
  notified?: boolean;
}

export interface BenchStage {
  engine: DevServer;
  client: Client;
  payouts: Payouts;
  simulator: SimulatorControlClient;
  workers: ChildProcess[];
  startWorker(): Promise<ChildProcess>;
  folder: string;
  stop(): Promise<void>;
}

const SECRET = 'bench-secret';

export async function withStage<T>(
  options: StageOptions,
  work: (stage: BenchStage) => Promise<T>,
): Promise<T> {
  const stage = await setStage(options);
  try {
    return await work(stage);
  } finally {
    await stage.stop();
  }
}

async function setStage(options: StageOptions): Promise<BenchStage> {
  const folder = mkdtempSync(join(tmpdir(), 'payouts-bench-'));
  const apps = options.apps ?? ['default'];
  const [simulatorPort = 0, servicePort = 0] = await freePorts(2);
  const [simulatorUrl, serviceUrl] = [simulatorPort, servicePort].map((port) => `http://127.0.0.1:${port}`);
  const engine = await startDevServer({
    always: true,
    ui: false,
    logFile: join(folder, 'engine.log'),
    dynamicConfig: options.dynamicConfig,
  });
  const children: ChildProcess[] = [];
  const run = async (program: string, env: Record<string, string>): Promise<ChildProcess> => {
    const child = await startOwn(
      program,
      { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
      join(folder, `${children.length}.log`),
    );
    children.push(child);
    return child;
  };
  await run('simulator/main.ts', {
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
    PAYMENTS_BASE_URL: simulatorUrl ?? '',
    PAYMENTS_AUTH_URL: simulatorUrl ?? '',
    PAYOUTS_SERVICE_LISTEN: `127.0.0.1:${servicePort}`,
    PAYOUTS_LOG_LEVEL: 'error',
    // A create that was turned away is asked about over this window before it is sent again.
    PAYOUTS_SETTLE_WINDOW: '5s',
    ...applications(apps, folder),
    ...options.env,
  };
  const startWorker = () => run(options.program ?? 'src/workers/main.ts', environment);
  const workers = await Promise.all(Array.from({ length: options.workers }, startWorker));
  await run('src/starters/service/main.ts', environment);
  const connection = await Connection.connect({ address: engine.address });
  const client = new Client({ connection });
  return {
    engine,
    client,
    payouts: new Payouts({ client, environment: 'test' }),
    simulator: simulatorControl(simulatorUrl ?? ''),
    workers,
    startWorker,
    folder,
    stop: async () => {
      await connection.close();
      for (const child of children.reverse()) await endOwn(child, 'SIGKILL');
      await engine.stop();
    },
  };
}

function applications(apps: readonly string[], folder: string): Record<string, string> {
  if (apps.length === 1 && apps[0] === 'default')
    return { PAYMENTS_APP_ID: 'app-default', PAYMENTS_APP_SECRET: SECRET };
  const file = join(folder, 'apps.json');
  const entries = apps.map((app) => [app, { appId: `app-${app}`, appSecret: 'env:BENCH_SECRET' }]);
  writeFileSync(file, JSON.stringify(Object.fromEntries(entries)));
  return { PAYOUTS_APPS_FILE: file, BENCH_SECRET: SECRET };
}
