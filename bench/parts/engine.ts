/**
 * Part 6: what a payout costs the engine, with the call limit lifted on both sides; beside a bare workflow of four empty
 * activities on an engine of the same kind, started by a bare client.
 */
import type { WorkflowExecutionInfo } from '@temporalio/client';
import { round } from '../measures.ts';
import { benchRequests, countOf, ended, patienceMs, startMany, untilEnded } from '../pay.ts';
import { cpuMs, pidOf } from '../process-use.ts';
import { type BenchStage, withStage } from '../stage.ts';
import { eachOf, type Say, untilCounted } from '../waits.ts';
import { SOON_FINAL, UNLIMITED, WORKERS } from './settings.ts';

/** Paid before the measurement, so that processes have warmed up. */
const WARM_UP = 30;
const STARTS_AT_ONCE = 25;
/** What a 2-core machine reaches at least. */
const SLOWEST_PER_SECOND = 10;

export async function engine(payouts: number, say: Say) {
  const settings = { payouts, limit: 'none', workers: WORKERS, ...UNLIMITED.simulator, warmUp: WARM_UP };
  say('ours');
  const ours = await withStage({ workers: WORKERS, ...UNLIMITED }, (stage) => run(stage, payouts, OURS, say));
  say('a bare workflow of four activities');
  const bare = { workers: WORKERS, program: 'bench/bare/worker.ts' };
  const baseline = await withStage(bare, (stage) => run(stage, payouts, BARE, say));
  return { settings, ...ours, baseline };
}

interface Subject {
  workflowType: string;
  /** Starts them and waits for all that have been started so far to end. */
  work(stage: BenchStage, from: number, until: number, say: Say): Promise<void>;
}

const OURS: Subject = {
  workflowType: 'payout',
  work: async (stage, from, until, say) => {
    await startMany(stage, benchRequests(until, 'default', SOON_FINAL).slice(from));
    await untilEnded(stage, until, patienceMs(until, SLOWEST_PER_SECOND), say);
  },
};

const BARE: Subject = {
  workflowType: 'bareFour',
  work: async (stage, from, until, say) => {
    const ids = Array.from({ length: until }, (_, number) => `bare-${number}`).slice(from);
    await eachOf(ids, STARTS_AT_ONCE, async (workflowId) => {
      await stage.client.workflow.start('bareFour', { workflowId, taskQueue: 'bare' });
    });
    const count = () => countOf(stage, "WorkflowType = 'bareFour' AND ExecutionStatus = 'Completed'");
    const limitMs = patienceMs(until, SLOWEST_PER_SECOND);
    await untilCounted({ what: 'bare workflows ended', wanted: until, count, limitMs, say });
  },
};

async function run(stage: BenchStage, payouts: number, subject: Subject, say: Say) {
  await subject.work(stage, 0, WARM_UP, say);
  const before = used(stage);
  const begunAt = Date.now();
  await subject.work(stage, WARM_UP, WARM_UP + payouts, say);
  const after = used(stage);
  const infos = (await ended(stage, subject.workflowType)).filter(
    ({ startTime }) => startTime.getTime() >= begunAt,
  );
  return {
    eventsPerPayout: round(infos.reduce((sum, info) => sum + info.historyLength, 0) / infos.length, 2),
    serverCpuPerPayout: round((after.server - before.server) / payouts, 2),
    workerCpuPerPayout: round((after.workers - before.workers) / payouts, 2),
    payoutsPerSecondUnlimited: round(payouts / (spanMs(infos) / 1_000), 2),
  };
}

function used({ engine: { pid }, workers }: BenchStage) {
  return {
    server: cpuMs(pidOf({ pid })),
    workers: workers.reduce((sum, worker) => sum + cpuMs(pidOf(worker)), 0),
  };
}

/** From the first start to the last end. */
function spanMs(infos: readonly WorkflowExecutionInfo[]): number {
  const starts = infos.map(({ startTime }) => startTime.getTime());
  const ends = infos.map(({ closeTime }) => closeTime?.getTime() ?? 0);
  return Math.max(...ends) - Math.min(...starts);
}
