/**
 * Part 12: a hundred applications share three processes, and none of them has payouts. What do they ask of Temporal, and how do
 * their rate limits move when processes end and start?
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { endProcess } from '../../scripts/child-process.ts';
import { freePorts } from '../../scripts/dev-server/ports.ts';
import { round } from '../measures.ts';
import { ownerOf } from '../owners.ts';
import { allCpuMs, cpuMs, pidOf, rssMiB } from '../process-use.ts';
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
  const cpu = () => ({ workers: allCpuMs(workers), server: cpuMs(pidOf(temporal)) });
  const perSecond = (value: number, digits: number) => round(value / (OBSERVED_MS / 1_000), digits);
  const [countsBefore, before] = [await count(), cpu()];
  await sleep(OBSERVED_MS);
  const [counts, after] = [await count(), cpu()];
  const requests = Object.entries(counts)
    .map(([kind, value]) => [kind, perSecond(value - (countsBefore[kind] ?? 0), 2)] as const)
    .filter(([, value]) => value > 0);
  return {
    requests: Object.fromEntries(requests),
    rss: round(Math.max(...workers.map((worker) => rssMiB(pidOf(worker)))), 0),
    workersCpu: perSecond(after.workers - before.workers, 1),
    serverCpu: perSecond(after.server - before.server, 1),
  };
}

/** Each process is stopped, and replaced when it has ended. */
async function rollingRestart(stage: BenchStage, apps: readonly string[], say: Say) {
  const begunMs = performance.now();
  for (const old of [...stage.workers]) {
    await endProcess(old, 'SIGTERM');
    stage.workers.splice(stage.workers.indexOf(old), 1);
    stage.workers.push(await stage.startWorker());
  }
  const restarted = round(performance.now() - begunMs, 0);
  const isLevel = (owners: Owners) =>
    sum(owners.values()) === apps.length &&
    Math.max(...owners.values()) <= (apps.length / WORKERS) * LEVEL_SHARE + 1;
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
  const requests = async () => sum(Object.values(await count()));
  const begunMs = performance.now();
  await Promise.all(stage.workers.splice(1).map((worker) => endProcess(worker, 'SIGKILL')));
  let [counted, peak] = [await requests(), 0];
  let ownedAfter: number | undefined;
  while (ownedAfter === undefined) {
    await sleep(LOOK_EVERY_MS);
    peak = Math.max(peak, (await requests()) - counted);
    const owners = await ownersOf(stage, apps);
    if (sum(owners.values()) === apps.length) ownedAfter = round(performance.now() - begunMs, 0);
    if (performance.now() - begunMs > LIMIT_MS) throw new Error('one process does not own all leases');
    // What was asked here doesn't count.
    counted = await requests();
  }
  return { ownedAfter, mostRequestsPerSecond: peak };
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
  const owned = async () => sum((await ownersOf(stage, apps)).values()) === apps.length || undefined;
  return untilFound('an owner of each lease', LIMIT_MS, owned, LOOK_EVERY_MS);
}

function sum(values: Iterable<number>): number {
  return [...values].reduce((total, value) => total + value, 0);
}

/** Requests to the server so far, by kind. */
type Counts = Readonly<Record<string, number>>;

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
