/** Part 3: the owner of the budget is killed, stopped, frozen: how long nothing is sent, and whether too much is. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { callFigures, round } from '../measures.ts';
import { ownerOf } from '../owners.ts';
import { benchRequests, startMany } from '../pay.ts';
import { withStage } from '../stage.ts';
import { type Say, untilCounted, untilSeen } from '../waits.ts';
import { LATENCY, LIMIT, SOON_FINAL, STRICT, WORKERS } from './settings.ts';

/** Enough that calls wait all the time, and still do when it is over. */
const PAYOUTS = 250;
/** The strike comes in the middle of the work, when the machine is done with the starts. */
const CALLS_BEFORE = 15 * LIMIT;
const FROZEN_MS = 10_000;
const AFTERWARDS_MS = 6_000;

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

function during(say: Say, strike: (owner: ChildProcess) => Promise<void>) {
  return withStage({ workers: WORKERS, simulator: STRICT }, async (stage) => {
    await startMany(stage, benchRequests(PAYOUTS, 'default', SOON_FINAL));
    const made = async () => (await stage.simulator.counts()).calls;
    const busy = {
      what: 'calls before the strike',
      wanted: CALLS_BEFORE,
      count: made,
      limitMs: 120_000,
      say,
    };
    await untilCounted(busy);
    const owner = await untilSeen('an owner', 30_000, () => ownerOf(stage, 'default'));
    const begun = (await stage.simulator.calls()).length;
    await strike(owner);
    await sleep(AFTERWARDS_MS);
    const calls = await stage.simulator.calls();
    // From the last call before it: there may be none between that one and the strike.
    const times = calls.slice(Math.max(0, begun - 1)).map(({ atMs }) => atMs);
    const refusedBefore = callFigures(calls.slice(0, begun), LIMIT).answered429;
    const { answered429 } = callFigures(calls, LIMIT);
    say(`answered 429: ${refusedBefore} before the strike, ${answered429 - refusedBefore} after it`);
    return { gap: longestGap(times), answered429 };
  });
}

function longestGap(times: readonly number[]): number {
  return round(Math.max(0, ...times.slice(1).map((time, at) => time - (times[at] ?? time))), 0);
}
