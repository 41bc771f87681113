/**
 * Part 6: what a payout costs the Temporal server, without a rate limit; compared with a bare workflow of four empty activities
 * on the same kind of server, started by a bare client, and with the steps in between.
 */
import type { WorkflowExecutionInfo } from '@temporalio/client';
import { round } from '../measures.ts';
import { completed, countOf, ended, patienceMs } from '../pay.ts';
import { allCpuMs, cpuMs, pidOf } from '../process-use.ts';
import { type BenchStage, withStage } from '../stage.ts';
import { eachOf, type Say, steadily, untilCounted } from '../waits.ts';
import { SUBJECTS, type Subject } from './engine-subjects.ts';
import { UNLIMITED, WORKERS } from './settings.ts';

/** Payouts before the measurement, which warm the processes up: a worker's code is compiled while it runs. */
const WARM_UP = 150;
const STARTS_AT_ONCE = 25;
/** The pace that one application's rate limit allows. */
const PACE_PER_SECOND = 5;
/** Forward and backward, so that a drift in the speed of the machine affects all subjects. */
const ORDER = ['baseline', 'queued', 'waiting', 'ours', 'ours', 'waiting', 'queued', 'baseline'] as const;

type Cost = Awaited<ReturnType<typeof measure>>;

export async function engine(payouts: number, say: Say) {
  const costs: Record<keyof typeof SUBJECTS, Cost[]> = { ours: [], baseline: [], queued: [], waiting: [] };
  for (const name of ORDER) {
    say(name);
    const subject = SUBJECTS[name];
    costs[name].push(await withStage(subject.stage, (stage) => measure(stage, payouts, subject, say)));
  }
  const settings = {
    payouts,
    rounds: costs.ours.length,
    limit: 'none',
    pacePerSecond: PACE_PER_SECOND,
    workers: WORKERS,
    ...UNLIMITED.simulator,
    warmUp: WARM_UP,
  };
  const beside = { baseline: mean(costs.baseline), queued: mean(costs.queued), waiting: mean(costs.waiting) };
  return { settings, ...mean(costs.ours), ...beside };
}

async function measure(stage: BenchStage, payouts: number, subject: Subject, say: Say) {
  const start = (number: number) => subject.start(stage, number);
  let started = 0;
  const next = (count: number) => Array.from({ length: count }, () => started++);
  const atOnce = (count: number) => () => eachOf(next(count), STARTS_AT_ONCE, start);
  await costOf(stage, subject, WARM_UP, atOnce(WARM_UP), say);
  const pace = await costOf(
    stage,
    subject,
    payouts,
    () => steadily(next(payouts), PACE_PER_SECOND, start),
    say,
  );
  const full = await costOf(stage, subject, payouts, atOnce(payouts), say);
  return {
    eventsPerPayout: pace.events,
    serverCpuPerPayout: pace.server,
    workerCpuPerPayout: pace.workers,
    serverCpuAtFullSpeed: full.server,
    workerCpuAtFullSpeed: full.workers,
    payoutsPerSecondUnlimited: full.perSecond,
  };
}

/** The cost of `count` executions, from the first start to the last end. */
async function costOf(
  stage: BenchStage,
  subject: Subject,
  count: number,
  startAll: () => Promise<void>,
  say: Say,
) {
  const before = { ...used(stage), ended: await endedSoFar(stage, subject) };
  const begunAt = Date.now();
  await startAll();
  await untilCounted({
    what: 'ended',
    wanted: before.ended + count,
    count: () => endedSoFar(stage, subject),
    limitMs: patienceMs(count, PACE_PER_SECOND),
    say,
  });
  const after = used(stage);
  const infos = (await ended(stage, subject.workflowType)).filter(
    ({ startTime }) => startTime.getTime() >= begunAt,
  );
  return {
    events: round(infos.reduce((sum, info) => sum + info.historyLength, 0) / infos.length, 2),
    server: round((after.server - before.server) / count, 2),
    workers: round((after.workers - before.workers) / count, 2),
    perSecond: round(count / (spanMs(infos) / 1_000), 2),
  };
}

function endedSoFar(stage: BenchStage, { workflowType }: Subject): Promise<number> {
  return countOf(stage, completed(workflowType));
}

function mean(costs: readonly Cost[]): Cost {
  const of = (name: keyof Cost) => round(costs.reduce((sum, cost) => sum + cost[name], 0) / costs.length, 2);
  return {
    eventsPerPayout: of('eventsPerPayout'),
    serverCpuPerPayout: of('serverCpuPerPayout'),
    workerCpuPerPayout: of('workerCpuPerPayout'),
    serverCpuAtFullSpeed: of('serverCpuAtFullSpeed'),
    workerCpuAtFullSpeed: of('workerCpuAtFullSpeed'),
    payoutsPerSecondUnlimited: of('payoutsPerSecondUnlimited'),
  };
}

function used({ temporal, workers }: BenchStage) {
  return { server: cpuMs(pidOf(temporal)), workers: allCpuMs(workers) };
}

/** From the first start to the last end. */
function spanMs(infos: readonly WorkflowExecutionInfo[]): number {
  const starts = infos.map(({ startTime }) => startTime.getTime());
  const ends = infos.map(({ closeTime }) => closeTime?.getTime() ?? 0);
  return Math.max(...ends) - Math.min(...starts);
}
