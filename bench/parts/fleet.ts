/**
 * Part 12: a hundred applications share three processes, and none of them has payouts. What do they ask of Temporal, and how do
 * their rate limits move when processes end and start?
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { freePorts } from '../../scripts/dev-server/ports.ts';
import { round } from '../measures.ts';
import { ownerOf } from '../owners.ts';
import { cpuMs, pidOf, rssMiB } from '../process-use.ts';
import { type BenchStage, withStage } from '../stage.ts';
import { eachOf, type Say, untilFound } from '../waits.ts';
import { WORKERS } from './settings.ts';

/** Until the leases are idle: a minute after the last call, and the leases have moved. */
const SETTLE_MS = 150_000;
const OBSERVED_MS = 120_000;
const LIMIT_MS = 300_000;
const LOOK_EVERY_MS = 1_000;
/** The leases are level when no process owns more than this many times its share, and one. */
const LEVEL_SHARE = 1.1;

export async function fleet(applications: number, say: Say) {
  const apps = Array.from({ length: applications }, (_, at) => `app${at}`);
  const [metricsPort = 0] = await freePorts(1);
  return withStage({ apps, workers: 0, notified: false, metricsPort }, async (stage) => {
    const count = () => requestsAt(metricsPort);
    const begunMs = performance.now();
    const elapsed = () => round(performance.now() - begunMs, 0);
    stage.workers.push(...(await Promise.all(Array.from({ length: WORKERS }, () => stage.startWorker()))));
    const ready = elapsed();
    await untilOwned(stage, apps);
    const owned = elapsed();
    say(`${ready} ms until ready, ${owned} ms until all leases are owned`);
    await sleep(SETTLE_MS);
    const idle = await idleUse(stage, count);
    say(`${JSON.stringify(idle.requests)} requests per second`);
    const rolled = await rollingRestart(stage, apps, say);
    const lost = await processesLost(stage, apps, count);
    say(`one of ${WORKERS} owned all after ${lost.ownedAfter} ms`);
    const settings = { applications, workers: WORKERS, observedMs: OBSERVED_MS, settleMs: SETTLE_MS };
    return { settings, ready, owned, idle, rolled, lost };
  });
}

async function idleUse({ workers, temporal }: BenchStage, count: () => Promise<Counts>) {
  const [before, cpu] = [await count(), usedMs(workers)];
  const serverCpu = cpuMs(pidOf({ pid: temporal.pid }));
  await sleep(OBSERVED_MS);
  const after = await count();
  const perSecond = (of: (counts: Counts) => number) =>
    round((of(after) - of(before)) / (OBSERVED_MS / 1_000), 2);
  const kinds = Object.keys(after).filter((kind) => perSecond((counts) => counts[kind] ?? 0) > 0);
  return {
    requests: Object.fromEntries(kinds.map((kind) => [kind, perSecond((counts) => counts[kind] ?? 0)])),
    rss: round(Math.max(...workers.map((worker) => rssMiB(pidOf(worker)))), 0),
    workersCpu: round((usedMs(workers) - cpu) / (OBSERVED_MS / 1_000), 1),
    serverCpu: round((cpuMs(pidOf({ pid: temporal.pid })) - serverCpu) / (OBSERVED_MS / 1_000), 1),
  };
}

function usedMs(workers: readonly ChildProcess[]): number {
  return workers.reduce((sum, worker) => sum + cpuMs(pidOf(worker)), 0);
}

/** Each process is stopped, and replaced when it has ended. */
async function rollingRestart(stage: BenchStage, apps: readonly string[], say: Say) {
  const begunMs = performance.now();
  for (const old of [...stage.workers]) {
    await end(old, 'SIGTERM');
    stage.workers.splice(stage.workers.indexOf(old), 1);
    stage.workers.push(await stage.startWorker());
  }
  const restarted = round(performance.now() - begunMs, 0);
  const isLevel = (owners: Owners) =>
    sum(owners) === apps.length && Math.max(...owners.values()) <= (apps.length / WORKERS) * LEVEL_SHARE + 1;
  const level = async () => {
    const owners = await ownersOf(stage, apps);
    say(`leases: ${[...owners.values()].join(', ')}`);
    return isLevel(owners) || undefined;
  };
  await untilFound('level leases', LIMIT_MS, level, LOOK_EVERY_MS);
  return { restarted, levelAfter: round(performance.now() - begunMs - restarted, 0) };
}

/** All processes but one are killed. */
async function processesLost(stage: BenchStage, apps: readonly string[], count: () => Promise<Counts>) {
  const begunMs = performance.now();
  await Promise.all(stage.workers.splice(1).map((worker) => end(worker, 'SIGKILL')));
  let [counted, peak] = [all(await count()), 0];
  let ownedAfter: number | undefined;
  while (ownedAfter === undefined) {
    await sleep(LOOK_EVERY_MS);
    const now = all(await count());
    peak = Math.max(peak, now - counted);
    const owners = await ownersOf(stage, apps);
    if (sum(owners) === apps.length) ownedAfter = round(performance.now() - begunMs, 0);
    if (performance.now() - begunMs > LIMIT_MS) throw new Error('one process does not own all leases');
    // What was asked here doesn't count.
    counted = all(await count());
  }
  return { ownedAfter, mostRequestsPerSecond: peak };
}

async function end(worker: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const exit = once(worker, 'exit');
  worker.kill(signal);
  await exit;
}

/** The number of leases by process. */
type Owners = ReadonlyMap<number, number>;

async function ownersOf(stage: BenchStage, apps: readonly string[]): Promise<Owners> {
  const owners = new Map<number, number>();
  await eachOf(apps, 10, async (app) => {
    const pid = (await ownerOf(stage, app))?.pid;
    if (pid !== undefined) owners.set(pid, (owners.get(pid) ?? 0) + 1);
  });
  return owners;
}

function untilOwned(stage: BenchStage, apps: readonly string[]): Promise<boolean> {
  const owned = async () => sum(await ownersOf(stage, apps)) === apps.length || undefined;
  return untilFound('an owner of each lease', LIMIT_MS, owned, LOOK_EVERY_MS);
}

function sum(owners: Owners): number {
  return [...owners.values()].reduce((total, leases) => total + leases, 0);
}

/** Requests to the server so far, by kind. */
type Counts = Readonly<Record<string, number>>;

function all(counts: Counts): number {
  return Object.values(counts).reduce((total, requests) => total + requests, 0);
}

/** As the server's frontend counts them. */
async function requestsAt(port: number): Promise<Counts> {
  const text = await (await request(`http://127.0.0.1:${port}/metrics`)).body.text();
  const counts: Record<string, number> = {};
  for (const [, labels = '', value] of text.matchAll(
    /^service_requests(?:_total)?\{([^}]*)\} ([\d.e+]+)$/gm,
  )) {
    const kind = /operation="(\w+)"/.exec(labels)?.[1];
    if (kind !== undefined && /service_name="frontend"/.test(labels))
      counts[kind] = (counts[kind] ?? 0) + Number(value);
  }
  return counts;
}
