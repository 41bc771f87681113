/**
 * Part 11: the image's worker starts while a payout waits. How soon does it hold the rate limit, shown by the first call of the
 * payout that reaches the provider?
 */
import { execFile } from 'node:child_process';
import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { endProcess } from '../../scripts/child-process.ts';
import { percentile, round } from '../measures.ts';
import { benchRequest } from '../pay.ts';
import { cpuMs, pidOf } from '../process-use.ts';
import { type BenchStage, withStage } from '../stage.ts';
import { type Say, untilFound } from '../waits.ts';
import { SOON_FINAL } from './settings.ts';

const ROOT = join(import.meta.dirname, '../..');
const WORKER = 'src/workers/main.js';
/** A call after so long fails the part. */
const LIMIT_MS = 60_000;
const LOOK_EVERY_MS = 10;
/** For the worker to end its payout and write its compile cache. */
const SETTLE_MS = 2_000;

interface Start {
  ready: number;
  firstCall: number;
  cpu: number;
}

export async function startup(rounds: number, say: Say) {
  const folder = mkdtempSync(join(tmpdir(), 'payouts-image-'));
  try {
    say('builds the folder of the image');
    await promisify(execFile)(process.execPath, ['scripts/run.mjs', 'scripts/build.ts', folder], {
      cwd: ROOT,
    });
    const imageMiB = round(bytesIn(folder) / 2 ** 20, 0);
    return await withStage({ workers: 0, notified: false }, async (stage) => {
      // The build of the image fills the cache in the same way.
      await startOf(stage, folder, 0);
      const starts: Start[] = [];
      for (let number = 1; number <= rounds; number += 1) {
        const start = await startOf(stage, folder, number);
        say(`${start.ready} ms until ready, ${start.firstCall} ms until the first call`);
        starts.push(start);
      }
      const median = (of: (start: Start) => number) => round(percentile(starts.map(of), 0.5), 0);
      return {
        settings: { rounds, applications: 1 },
        imageMiB,
        ready: median(({ ready }) => ready),
        firstCall: median(({ firstCall }) => firstCall),
        longestFirstCall: Math.max(...starts.map(({ firstCall }) => firstCall)),
        cpu: median(({ cpu }) => cpu),
      };
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function startOf(stage: BenchStage, folder: string, number: number): Promise<Start> {
  await stage.payouts.start(benchRequest(number, 'default', SOON_FINAL));
  const before = (await stage.simulator.counts()).calls;
  const begunMs = performance.now();
  const worker = await stage.startWorker(
    { folder, args: [WORKER] },
    // The workflows of the image.
    {
      PAYOUTS_WORKFLOW_BUNDLE: '',
      NODE_ENV: 'production',
      NODE_COMPILE_CACHE: join(folder, '.compile-cache'),
    },
  );
  const ready = round(performance.now() - begunMs, 0);
  const hasCalled = async () => (await stage.simulator.counts()).calls > before || undefined;
  await untilFound('a call', LIMIT_MS, hasCalled, LOOK_EVERY_MS);
  const firstCall = round(performance.now() - begunMs, 0);
  const cpu = cpuMs(pidOf(worker));
  await sleep(SETTLE_MS);
  await endProcess(worker, 'SIGTERM');
  return { ready, firstCall, cpu };
}

/** Follows no links. */
function bytesIn(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => lstatSync(join(folder, name)))
    .reduce((sum, file) => sum + (file.isFile() ? file.size : 0), 0);
}
