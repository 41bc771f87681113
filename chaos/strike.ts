/** What is done to our processes and to the engine while payouts are under way. */
import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchStage } from '../bench/stage.ts';
import { endProcess, hasEnded } from '../scripts/child-process.ts';
import type { Strike } from './plan.ts';

const FROZEN_MS = 4_000;
const ENGINE_AWAY_MS = 2_000;

/** Each strike in its turn; whatever ended is started again, as a supervisor would. */
export async function strikeAll(stage: BenchStage, strikes: readonly Strike[]): Promise<void> {
  const begunMs = performance.now();
  for (const { atMs, kind } of strikes) {
    await sleep(Math.max(0, begunMs + atMs - performance.now()));
    await BY_KIND[kind](stage);
    await supervise(stage);
  }
}

/** A worker that gave up, because the engine was away for too long, is replaced too. */
export async function supervise(stage: BenchStage): Promise<void> {
  for (const [at, worker] of stage.workers.entries())
    if (hasEnded(worker)) stage.workers[at] = await stage.startWorker();
  if (hasEnded(stage.service)) stage.service = await stage.startService();
}

const BY_KIND: Record<Strike['kind'], (stage: BenchStage) => Promise<void>> = {
  'kill-worker': ({ workers }) => end(workers, 'SIGKILL'),
  'stop-worker': ({ workers }) => end(workers, 'SIGTERM'),
  'freeze-worker': async ({ workers: [worker] }) => {
    worker?.kill('SIGSTOP');
    await sleep(FROZEN_MS);
    worker?.kill('SIGCONT');
  },
  'kill-receiver': ({ service }) => endProcess(service, 'SIGKILL'),
  'kill-engine': async ({ engine }) => {
    await engine.kill('SIGKILL');
    await sleep(ENGINE_AWAY_MS);
    await engine.restart();
  },
};

/** The one that has run longest; its successor goes to the end of the line. */
async function end(workers: ChildProcess[], signal: NodeJS.Signals): Promise<void> {
  const worker = workers.shift();
  if (!worker) return;
  workers.push(worker);
  await endProcess(worker, signal);
}
