/** Part 3: the owner of the budget is killed, stopped, frozen: how long nothing is sent, and whether too much is. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { leaseWorkflowId } from '../../src/domain/identity.ts';
import { callFigures, round } from '../measures.ts';
import { benchRequest, startMany } from '../pay.ts';
import { type BenchStage, withStage } from '../stage.ts';
import { LATENCY, LIMIT } from './budget.ts';

const PAYOUTS = 120;
const FROZEN_MS = 10_000;
const STRICT = { callsPerSecond: LIMIT, ...LATENCY };

export async function handover(say: (line: string) => void) {
  const settings = { payouts: PAYOUTS, limit: LIMIT, workers: 3, frozenMs: FROZEN_MS, ...LATENCY };
  say('killed');
  const killed = await during((owner) => end(owner, 'SIGKILL'));
  say('stopped');
  const stopped = await during((owner) => end(owner, 'SIGTERM'));
  say('frozen');
  const frozen = await during(freeze);
  return { settings, killed, stopped, frozen };
}

type Process = BenchStage['workers'][number];

async function end(owner: Process, signal: NodeJS.Signals): Promise<void> {
  const exit = once(owner, 'exit');
  owner.kill(signal);
  await exit;
}

async function freeze(owner: Process): Promise<void> {
  owner.kill('SIGSTOP');
  await sleep(FROZEN_MS);
  owner.kill('SIGCONT');
}

function during(strike: (owner: Process) => Promise<void>) {
  return withStage({ workers: 3, simulator: STRICT }, async (stage) => {
    await startMany(
      stage,
      Array.from({ length: PAYOUTS }, (_, at) => benchRequest(at, 'default', 'success final=1s')),
    );
    const owner = await ownerOf(stage);
    const begun = (await stage.simulator.calls()).length;
    await strike(owner);
    await sleep(6_000);
    const calls = await stage.simulator.calls();
    return {
      gap: longestGap(calls.slice(begun).map(({ atMs }) => atMs)),
      answered429: callFigures(calls, LIMIT).answered429,
    };
  });
}

async function ownerOf({ client, workers }: BenchStage): Promise<Process> {
  for (;;) {
    const { raw } = await client.workflow.getHandle(leaseWorkflowId('test', 'default')).describe();
    const pid = Number.parseInt(raw.pendingActivities?.[0]?.lastWorkerIdentity ?? '', 10);
    const owner = workers.find((worker) => worker.pid === pid);
    if (owner) return owner;
    await sleep(100);
  }
}

function longestGap(times: readonly number[]): number {
  return round(Math.max(0, ...times.slice(1).map((time, at) => time - (times[at] ?? time))), 0);
}
