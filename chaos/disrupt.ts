/** Disruptions of our processes and of the Temporal server while payouts run. */
import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchStage } from '../bench/stage.ts';
import { endProcess, hasEnded } from '../scripts/child-process.ts';
import type { Disruption } from './plan.ts';

const FROZEN_MS = 4_000;
const TEMPORAL_DOWN_MS = 2_000;

/** Runs each disruption at its time. Processes that ended are started again, as a supervisor would. */
export async function disruptAll(stage: BenchStage, disruptions: readonly Disruption[]): Promise<void> {
  const begunMs = performance.now();
  for (const { atMs, kind } of disruptions) {
    await sleep(Math.max(0, begunMs + atMs - performance.now()));
    await BY_KIND[kind](stage);
    await supervise(stage);
  }
}

/** Also replaces a worker that exited because Temporal was unavailable for too long. */
export async function supervise(stage: BenchStage): Promise<void> {
  for (const [at, worker] of stage.workers.entries())
    if (hasEnded(worker)) stage.workers[at] = await stage.startWorker();
  if (hasEnded(stage.apiServer)) stage.apiServer = await stage.startApiServer();
}

const BY_KIND: Record<Disruption['kind'], (stage: BenchStage) => Promise<void>> = {
  'kill-worker': ({ workers }) => end(workers, 'SIGKILL'),
  'stop-worker': ({ workers }) => end(workers, 'SIGTERM'),
  'freeze-worker': async ({ workers: [worker] }) => {
    worker?.kill('SIGSTOP');
    await sleep(FROZEN_MS);
    worker?.kill('SIGCONT');
  },
  'kill-api-server': ({ apiServer }) => endProcess(apiServer, 'SIGKILL'),
  'kill-temporal': async ({ temporal }) => {
    await temporal.kill('SIGKILL');
    await sleep(TEMPORAL_DOWN_MS);
    await temporal.restart();
  },
};

/** The one that has run longest. Its successor goes to the end of the list. */
async function end(workers: ChildProcess[], signal: NodeJS.Signals): Promise<void> {
  const worker = workers.shift();
  if (!worker) return;
  workers.push(worker);
  await endProcess(worker, signal);
}
