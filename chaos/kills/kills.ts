/** What is killed, stalled or filled in the production topology, and how it heals. */
import { existsSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { freePorts } from '../../scripts/dev-server/ports.ts';
import { APP_ID } from '../../scripts/topology/processes.ts';
import type { Topology } from '../../scripts/topology.ts';
import { leaseWorkflowId } from '../../src/contract/ids.ts';

export interface Kill {
  name: string;
  /** What happens, for the table. */
  what: string;
  /** Before the payouts start. */
  prepare?(topology: Topology): Promise<void>;
  /** Resolves when everything runs again. */
  run(topology: Topology, client: Client): Promise<void>;
  /** After the payouts have ended. */
  restore?(topology: Topology): Promise<void>;
}

/** A supervisor starts an ended process again after this time. */
const RESTART_MS = 5_000;
const OUTAGE_MS = 10_000;

export const KILLS: readonly Kill[] = [
  { name: 'none', what: 'nothing, for comparison', run: () => sleep(OUTAGE_MS) },
  {
    name: 'worker',
    what: 'the lease owner is killed',
    run: async (topology, client) => kill(topology, await leaseOwner(topology, client)),
  },
  ...(
    [
      ['api', 'api-1', 'one of two API servers'],
      ['frontend', 'frontend-1', 'one of two frontends'],
      ['history', 'history-1', 'one of two history nodes'],
      ['matching', 'matching-1', 'one of two matching nodes'],
    ] as const
  ).map(([name, child, what]) => ({
    name,
    what: `${what} is killed`,
    run: (topology: Topology) => kill(topology, child),
  })),
  {
    name: 'database-restart',
    what: 'PostgreSQL crashes and recovers (SIGQUIT)',
    run: async ({ database }) => {
      await database.stop('SIGQUIT');
      await sleep(RESTART_MS);
      await database.start();
    },
  },
  {
    name: 'database-stall',
    what: 'PostgreSQL freezes for 10 s',
    run: async ({ database }) => {
      database.signalAll('SIGSTOP');
      await sleep(OUTAGE_MS);
      database.signalAll('SIGCONT');
    },
  },
  {
    name: 'standby',
    what: 'the primary crashes, and a synchronous standby is promoted',
    prepare: followedByStandby,
    run: async (topology) => {
      const standby = standbys.get(topology);
      if (standby === undefined) throw new Error('there is no standby');
      await topology.database.stop('SIGQUIT');
      await sleep(RESTART_MS);
      standby.promote();
      // The standby copied the setting, and nobody follows it.
      standby.query('postgres', 'alter system reset synchronous_standby_names');
      standby.query('postgres', 'select pg_reload_conf()');
      topology.database = standby;
    },
  },
  {
    name: 'disk-full',
    what: "the database's disk is full for 10 s",
    run: async ({ database }) => {
      const ballast = join(database.folder, 'ballast');
      fill(ballast, database.folder);
      await sleep(OUTAGE_MS);
      rmSync(ballast);
      if (!database.isRunning) await database.start();
    },
  },
  {
    name: 'clock',
    what: "all workers' clocks are an hour ahead for 10 s",
    prepare: async (topology) => {
      const library = fakeClockLibrary();
      if (library === undefined) throw new Error('libfaketime is not installed');
      step(topology, 0);
      const env = {
        LD_PRELOAD: library,
        FAKETIME_TIMESTAMP_FILE: clockFile(topology),
        FAKETIME_CACHE_DURATION: '1',
        // As on a real machine, where only the wall clock steps.
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      };
      await restartWorkers(topology, env);
    },
    run: async (topology) => {
      step(topology, 3_600);
      await sleep(OUTAGE_MS);
      step(topology, 0);
    },
    restore: (topology) => restartWorkers(topology, {}),
  },
];

async function kill(topology: Topology, name: string): Promise<void> {
  const child = topology.child(name);
  await child.kill('SIGKILL');
  await sleep(RESTART_MS);
  await child.start();
}

/** The name of the worker. Any of them, if none owns the lease now. */
async function leaseOwner(topology: Topology, client: Client): Promise<string> {
  const { raw } = await client.workflow.getHandle(leaseWorkflowId('test', APP_ID)).describe();
  const pid = Number.parseInt(raw.pendingActivities?.[0]?.lastWorkerIdentity ?? '', 10);
  return topology.programs.find((child) => child.pid === pid)?.name ?? 'worker-1';
}

const standbys = new WeakMap<Topology, Topology['database']>();

async function followedByStandby(topology: Topology): Promise<void> {
  const { database, places } = topology;
  const [port = 0] = await freePorts(1);
  standbys.set(topology, await database.standby(join(places.folder, 'standby'), port));
  const set = (command: string) => database.query('postgres', command);
  set("alter system set synchronous_standby_names = 'standby'");
  set('select pg_reload_conf()');
  const isSynchronous = () => set('select sync_state from pg_stat_replication').toString().trim() === 'sync';
  while (!isSynchronous()) await sleep(100);
}

/** Leaves no byte. */
function fill(file: string, folder: string): void {
  const { bavail, bsize } = statfsSync(folder);
  const block = Buffer.alloc(2 ** 20);
  try {
    for (let left = bavail * bsize; left > 0; left -= block.length) writeFileSync(file, block, { flag: 'a' });
  } catch {
    // Full: the database wrote meanwhile.
  }
}

async function restartWorkers(topology: Topology, env: NodeJS.ProcessEnv): Promise<void> {
  for (const child of topology.programs.filter(({ name }) => name.startsWith('worker-'))) {
    await child.stop();
    await child.start(env);
  }
}

function clockFile({ places }: Topology): string {
  return join(places.folder, 'clock');
}

function step(topology: Topology, seconds: number): void {
  writeFileSync(clockFile(topology), `+${seconds}`);
}

/** Debian's package `libfaketime` has a folder for each architecture. */
function fakeClockLibrary(): string | undefined {
  return readdirSync('/usr/lib')
    .map((folder) => join('/usr/lib', folder, 'faketime/libfaketimeMT.so.1'))
    .find((file) => existsSync(file));
}
