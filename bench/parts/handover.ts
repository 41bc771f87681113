/** Part 3: the lease owner is killed, stopped or frozen. How long is the gap between calls, and is the limit exceeded? */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { callFigures, round } from '../measures.ts';
import { ownerOf } from '../owners.ts';
import { benchRequests, startMany } from '../pay.ts';
import { withStage } from '../stage.ts';
import { type Say, untilCounted, untilFound } from '../waits.ts';
import { LATENCY, LIMIT, SOON_FINAL, STRICT, WORKERS } from './settings.ts';

/** Enough that calls are queued during the whole measurement. */
const PAYOUTS = 250;
/** The interruption comes after the starts, in the middle of the work. */
const CALLS_BEFORE_INTERRUPTION = 15 * LIMIT;
const FROZEN_MS = 10_000;
const OBSERVED_MS = 6_000;

export async function handover(say: Say) {
  const settings = { payouts: PAYOUTS, limit: LIMIT, workers: WORKERS, frozenMs: FROZEN_MS, ...LATENCY };
  say('killed');
  const killed = await during(say, (owner) => end(owner, 'SIGKILL'));
  say('stopped');
  const stopped = await during(say, (owner) => end(owner, 'SIGTERM'));
  say('frozen');
  const frozen = await during(say, freeze);
  return { settings, killed, stopped, frozen };
}

async function end(owner: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const exit = once(owner, 'exit');
  owner.kill(signal);
  await exit;
}

async function freeze(owner: ChildProcess): Promise<void> {
  owner.kill('SIGSTOP');
  await sleep(FROZEN_MS);
  owner.kill('SIGCONT');
}

function during(say: Say, interrupt: (owner: ChildProcess) => Promise<void>) {
  return withStage({ workers: WORKERS, simulator: STRICT }, async (stage) => {
    await startMany(stage, benchRequests(PAYOUTS, 'default', SOON_FINAL));
    const made = async () => (await stage.simulator.counts()).calls;
    const busy = {
      what: 'calls before the interruption',
      wanted: CALLS_BEFORE_INTERRUPTION,
      count: made,
      limitMs: 120_000,
      say,
    };
    await untilCounted(busy);
    const owner = await untilFound('an owner', 30_000, () => ownerOf(stage, 'default'));
    const begun = (await stage.simulator.calls()).length;
    await interrupt(owner);
    await sleep(OBSERVED_MS);
    const calls = await stage.simulator.calls();
    // Starts at the last call before the interruption, because the gap may already have begun.
    const times = calls.slice(Math.max(0, begun - 1)).map(({ atMs }) => atMs);
    const refusedBefore = callFigures(calls.slice(0, begun), LIMIT).answered429;
    const { answered429 } = callFigures(calls, LIMIT);
    say(`answered 429: ${refusedBefore} before the interruption, ${answered429 - refusedBefore} after it`);
    return { gap: longestGap(times), answered429 };
  });
}

function longestGap(times: readonly number[]): number {
  return round(Math.max(0, ...times.slice(1).map((time, at) => time - (times[at] ?? time))), 0);
}
