/**
 * Part 3: the lease owner is killed, stopped or frozen, again and again. How long is the gap between calls, and is the limit
 * exceeded?
 */
import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { endProcess } from '../../scripts/child-process.ts';
import { callFigures, percentile, round } from '../measures.ts';
import { ownerOf } from '../owners.ts';
import { benchRequest } from '../pay.ts';
import { type BenchStage, withStage } from '../stage.ts';
import { type Say, untilCounted, untilFound } from '../waits.ts';
import { LATENCY, LIMIT, SOON_FINAL, STRICT, WORKERS } from './settings.ts';

/** More than the limit allows, so that calls are always queued. */
const STARTS_PER_SECOND = 6;
/** Between two trials: the work has settled again. */
const CALLS_BEFORE_TRIAL = 5 * LIMIT;
const FROZEN_MS = 10_000;
const OBSERVED_MS = 5_000;

type Interrupt = (owner: ChildProcess) => Promise<void>;

export async function handover(trials: number, say: Say) {
  const settings = { trials, limit: LIMIT, workers: WORKERS, frozenMs: FROZEN_MS, ...LATENCY };
  const run = (what: string, interrupt: Interrupt) =>
    during(trials, interrupt, (line) => say(`${what}: ${line}`));
  return {
    settings,
    killed: await run('killed', (owner) => endProcess(owner, 'SIGKILL')),
    stopped: await run('stopped', (owner) => endProcess(owner, 'SIGTERM')),
    frozen: await run('frozen', freeze),
  };
}

async function freeze(owner: ChildProcess): Promise<void> {
  owner.kill('SIGSTOP');
  await sleep(FROZEN_MS);
  owner.kill('SIGCONT');
}

function during(trials: number, interrupt: Interrupt, say: Say) {
  return withStage({ workers: WORKERS, simulator: STRICT }, async (stage) => {
    const done = new AbortController();
    const starting = startUntil(stage, done.signal);
    const gaps: number[] = [];
    try {
      while (gaps.length < trials) {
        gaps.push(await trial(stage, interrupt, say));
        say(`${gaps.length}/${trials}: a gap of ${gaps.at(-1)} ms`);
      }
    } finally {
      done.abort();
      await starting;
    }
    const { answered429 } = callFigures(await stage.simulator.calls(), LIMIT);
    return { gapP50: percentile(gaps, 0.5), gapMax: Math.max(...gaps), gaps, answered429 };
  });
}

async function startUntil({ payouts }: BenchStage, stopped: AbortSignal): Promise<void> {
  for (let number = 0; !stopped.aborted; number += 1) {
    await payouts.start(benchRequest(number, 'default', SOON_FINAL));
    await sleep(1_000 / STARTS_PER_SECOND);
  }
}

/** The longest gap between two calls, in ms. A process that has ended is replaced afterwards. */
async function trial(stage: BenchStage, interrupt: Interrupt, say: Say): Promise<number> {
  const made = async () => (await stage.simulator.counts()).calls;
  const wanted = (await made()) + CALLS_BEFORE_TRIAL;
  await untilCounted({ what: 'calls', wanted, count: made, limitMs: 120_000, say });
  const owner = await untilFound('an owner', 30_000, () => ownerOf(stage, 'default'));
  const begun = await made();
  await interrupt(owner);
  await sleep(OBSERVED_MS);
  // Starts at the last call before the interruption, because the gap may already have begun.
  const times = (await stage.simulator.calls()).slice(Math.max(0, begun - 1)).map(({ atMs }) => atMs);
  if (owner.exitCode !== null || owner.signalCode !== null)
    stage.workers.splice(stage.workers.indexOf(owner), 1, await stage.startWorker());
  return longestGap(times);
}

function longestGap(times: readonly number[]): number {
  return round(Math.max(0, ...times.slice(1).map((time, at) => time - (times[at] ?? time))), 0);
}
