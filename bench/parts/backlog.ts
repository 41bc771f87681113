/** Part 2: all started at once. How long a lock waits for its create, beside a queue that is first in, first out. */
import { callFigures, percentile, round } from '../measures.ts';
import { benchRequest, startMany, untilEnded } from '../pay.ts';
import { type BenchStage, withStage } from '../stage.ts';
import { LATENCY, LIMIT } from './budget.ts';

const STRICT = { callsPerSecond: LIMIT, ...LATENCY };

export async function backlog(payouts: number, say: (line: string) => void) {
  say('ours');
  const ours = await withStage({ workers: 3, simulator: STRICT }, (stage) => run(stage, payouts, say));
  say('first in, first out');
  const noPriorities = { 'matching.useNewMatcher': false };
  const baseline = await withStage({ workers: 3, simulator: STRICT, dynamicConfig: noPriorities }, (stage) =>
    run(stage, payouts, say),
  );
  return { settings: { payouts, limit: LIMIT, workers: 3, ...LATENCY }, ...ours, baseline };
}

async function run(stage: BenchStage, payouts: number, say: (line: string) => void) {
  await startMany(
    stage,
    Array.from({ length: payouts }, (_, at) => benchRequest(at, 'default', 'success final=1s')),
  );
  await untilEnded(stage, payouts, (ended) => say(`${ended}/${payouts}`));
  const waits = await lockToCreate(stage);
  const calls = await stage.simulator.calls();
  const quotes = calls.filter(({ operation, status }) => operation === 'fee' && status === 200).length;
  return {
    lockToCreateP50: round(percentile(waits, 0.5), 0),
    lockToCreateP99: round(percentile(waits, 0.99), 0),
    requotes: quotes - payouts,
    answered429: callFigures(calls, LIMIT).answered429,
  };
}

async function lockToCreate(stage: BenchStage): Promise<number[]> {
  const { creates } = await stage.simulator.ledger();
  return creates.flatMap(({ lockAgeMs }) => (lockAgeMs === null ? [] : [lockAgeMs]));
}
