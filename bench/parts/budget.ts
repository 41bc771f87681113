/** Part 1: how much of the call budget is used, and whether it is ever exceeded; beside what Temporal alone does. */
import { callFigures, round } from '../measures.ts';
import { benchRequest, startMany, untilEnded } from '../pay.ts';
import { type BenchStage, type StageOptions, withStage } from '../stage.ts';

export const LIMIT = 20;
/** 100 ms ± 50 ms. */
export const LATENCY = { answersAfterMs: [50, 150] };

export async function budget(payouts: number, say: (line: string) => void) {
  const strict = { callsPerSecond: LIMIT, ...LATENCY };
  say('ours');
  const ours = await withStage({ workers: 3, simulator: strict }, (stage) => run(stage, payouts, say));
  say('with ±25 ms of arrival jitter');
  const jitter = { ...strict, arrivesAfterMs: [0, 50] };
  const jittered = await withStage({ workers: 3, simulator: jitter }, (stage) => run(stage, payouts, say));
  say('plain Temporal: maxTaskQueueActivitiesPerSecond, default retries');
  const plain: StageOptions = { workers: 3, simulator: strict, program: 'bench/plain-worker.ts' };
  const baseline = await withStage(plain, (stage) => run(stage, payouts, say));
  return { settings: { payouts, limit: LIMIT, workers: 3, ...LATENCY }, ...ours, jittered, baseline };
}

async function run(stage: BenchStage, payouts: number, say: (line: string) => void) {
  const requests = Array.from({ length: payouts }, (_, at) =>
    benchRequest(at, 'default', 'success final=1s'),
  );
  const starting = startMany(stage, requests);
  await untilEnded(stage, payouts, (ended) => say(`${ended}/${payouts}`));
  await starting;
  const calls = await stage.simulator.calls();
  const figures = callFigures(calls, LIMIT);
  const { debits, paidTwice } = await stage.simulator.ledger();
  return {
    ...figures,
    callsPerPayout: round(figures.calls / payouts, 3),
    payoutsPerSecond: round(payouts / figures.seconds, 2),
    paidOnce: Object.values(debits).filter(({ count }) => count === 1).length,
    paidTwice: paidTwice.length,
  };
}
