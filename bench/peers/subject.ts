/** A tool that pays: the product, or a peer with its server, three workers, a front and a simulator. */
import type { ChildProcess } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { endProcess, killWithParent, startProgram } from '../../scripts/child-process.ts';
import { freePorts, loopback } from '../../scripts/dev-server/ports.ts';
import { compilePrograms } from '../../scripts/programs.ts';
import { type SimulatorControlClient, simulatorControl } from '../../simulator/control/client.ts';
import { ownerOf } from '../owners.ts';
import { benchRequest } from '../pay.ts';
import { pidOf } from '../process-use.ts';
import { type BenchStage, withStage } from '../stage.ts';
import type { Ended } from './peer.ts';
import type { Payout } from './provider.ts';
import { postgresServer, restateServer, type Server, temporalServer, valkeyServer } from './servers.ts';

export const PEERS = {
  temporal: temporalServer,
  dbos: postgresServer,
  restate: restateServer,
  bullmq: valkeyServer,
  table: postgresServer,
} as const;
export const SUBJECTS = ['product', 'temporal', 'dbos', 'restate', 'bullmq', 'table'] as const;
export type SubjectName = (typeof SUBJECTS)[number];

export interface Options {
  simulator: Record<string, unknown>;
  callsPerSecond: number;
  pollMs: number;
  callTimeoutMs: number;
  notified?: boolean;
}

export interface Subject {
  simulator: SimulatorControlClient;
  version: string;
  workerPids(): number[];
  serverPids(): number[];
  answered(): Promise<number | undefined>;
  start(payout: Payout): Promise<void>;
  ended(): Promise<Ended[]>;
  /** Payouts for which an operator has to decide. */
  inReview(): Promise<number>;
  /** Kills one with SIGKILL: where one worker sends all calls, that one. Returns how to start it again. */
  killWorker(turn: number): Promise<() => Promise<void>>;
}

export const WORKERS = 3;
const APP = { appId: 'app-default', appSecret: 'bench-secret' };

export function withSubject<T>(
  name: SubjectName,
  options: Options,
  work: (subject: Subject) => Promise<T>,
): Promise<T> {
  return name === 'product' ? withProduct(options, work) : withPeer(name, options, work);
}

async function withPeer<T>(
  name: keyof typeof PEERS,
  options: Options,
  work: (subject: Subject) => Promise<T>,
): Promise<T> {
  await compilePrograms();
  const folder = mkdtempSync(join(tmpdir(), 'payouts-peers-'));
  // PostgreSQL runs as another user if this process is root.
  chmodSync(folder, 0o755);
  const processes: ChildProcess[] = [];
  const server = await PEERS[name](folder);
  let isDone = false;
  try {
    const result = await work(await startPeer(name, options, { folder, processes, server }));
    isDone = true;
    return result;
  } finally {
    for (const child of processes.reverse()) await endProcess(child, 'SIGKILL');
    await server.stop();
    if (isDone) rmSync(folder, { recursive: true, force: true });
    else console.error(`logs in ${folder}`);
  }
}

interface Parts {
  folder: string;
  processes: ChildProcess[];
  server: Server;
}

async function startPeer(
  name: keyof typeof PEERS,
  options: Options,
  { folder, processes, server }: Parts,
): Promise<Subject> {
  const [simulatorPort, frontPort, ...ports] = await freePorts(2 + WORKERS);
  const [simulatorUrl, frontUrl] = [simulatorPort, frontPort].map((port) => `http://${loopback(port)}`);
  if (simulatorUrl === undefined || frontUrl === undefined) throw new Error('no ports');
  let logs = 0;
  const run = async (program: string | readonly string[], env: Record<string, string>) => {
    const known = { PATH: process.env['PATH'], HOME: process.env['HOME'], NODE_ENV: 'production' };
    const what =
      typeof program === 'string'
        ? program
        : { folder: import.meta.dirname, args: ['--import', 'tsx', 'run.ts', ...program] };
    logs += 1;
    return startProgram(what, { ...known, ...env }, join(folder, `${logs}.log`), (child) => {
      killWithParent(child);
      processes.push(child);
    });
  };
  await run('simulator/main.ts', {
    SIMULATOR_LISTEN: loopback(simulatorPort),
    SIMULATOR_APPS: JSON.stringify([
      { ...APP, ...(options.notified !== false && { notifyUrl: `${frontUrl}/notifications` }) },
    ]),
    SIMULATOR_SETTINGS: JSON.stringify(options.simulator),
  });
  const environment = {
    PROVIDER_URL: simulatorUrl,
    APP_ID: APP.appId,
    APP_SECRET: APP.appSecret,
    CALL_TIMEOUT_MS: `${options.callTimeoutMs}`,
    CALLS_PER_SECOND: `${options.callsPerSecond}`,
    POLL_MS: `${options.pollMs}`,
    SERVER: server.address,
  };
  await run([name, 'front'], { ...environment, PORT: `${frontPort}` });
  const startWorker = (at: number) =>
    run([name, 'worker'], { ...environment, WORKER: `${at}`, PORT: `${ports[at]}` });
  const workers: ChildProcess[] = [];
  for (let at = 0; at < WORKERS; at += 1) workers.push(await startWorker(at));
  await server.register?.(ports);
  return {
    simulator: simulatorControl(simulatorUrl),
    version: server.version,
    workerPids: () => workers.map(pidOf),
    serverPids: () => server.pids(),
    answered: () => server.answered(),
    start: async (payout) => void (await posted(`${frontUrl}/payouts`, payout)),
    ended: async () => endedSchema.parse(await (await fetch(`${frontUrl}/ended`)).json()),
    inReview: async () => 0,
    killWorker: async (turn) => {
      const at = turn % WORKERS;
      await endProcess(workers[at], 'SIGKILL');
      return async () => {
        workers[at] = await startWorker(at);
      };
    },
  };
}

const endedSchema = z.array(z.object({ id: z.string(), outcome: z.string(), atMs: z.number() }));

async function posted(url: string, body: unknown): Promise<void> {
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  await response.arrayBuffer();
}

function withProduct<T>(options: Options, work: (subject: Subject) => Promise<T>): Promise<T> {
  const { simulator, callsPerSecond, pollMs, callTimeoutMs, notified = true } = options;
  const env = {
    PAYMENTS_CALLS_PER_SECOND: `${callsPerSecond}`,
    PAYMENTS_CALL_TIMEOUT: `${callTimeoutMs}ms`,
    PAYOUTS_POLL_FIRST: `${pollMs}ms`,
    PAYOUTS_POLL_MAX: `${pollMs}ms`,
    PAYMENTS_CREATE_CODES: '429:busy,30001:lock-expired,30002:insufficient,30005:refused',
  };
  return withStage({ workers: WORKERS, simulator, env, notified }, (stage) => work(productOn(stage)));
}

function productOn(stage: BenchStage): Subject {
  const { workers, client, temporal } = stage;
  return {
    simulator: stage.simulator,
    version: 'Temporal dev server, SQLite file',
    workerPids: () => workers.map(pidOf),
    serverPids: () => (temporal.pid === undefined ? [] : [temporal.pid]),
    answered: async () => undefined,
    start: async ({ id, scenario }) => {
      await stage.payouts.start({ ...benchRequest(0, 'default', scenario), partnerOrderId: id });
    },
    ended: async () => {
      const ended: Ended[] = [];
      const query = "WorkflowType = 'payout' AND ExecutionStatus != 'Running'";
      for await (const info of client.workflow.list({ query, pageSize: 1_000 })) {
        const outcome = z.array(z.string()).parse(info.searchAttributes['PayoutOutcome'] ?? [])[0];
        const id = info.workflowId.split(':').at(-1) ?? '';
        ended.push({ id, outcome: outcome ?? 'ERROR', atMs: info.closeTime?.getTime() ?? 0 });
      }
      return ended;
    },
    inReview: async () =>
      (await client.workflow.count("PayoutPhase = 'NEEDS_REVIEW' AND ExecutionStatus = 'Running'")).count,
    killWorker: async () => {
      const owner = (await ownerOf(stage, 'default')) ?? workers[0];
      await endProcess(owner, 'SIGKILL');
      return async () => {
        if (owner) workers[workers.indexOf(owner)] = await stage.startWorker();
      };
    },
  };
}
