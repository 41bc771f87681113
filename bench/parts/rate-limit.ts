/** Part 1: how much of the call budget is used, and whether it is ever exceeded; beside what Temporal alone does. */
import { callFigures, callsInSlidingSecond, countBy, round } from '../measures.ts';
import { benchRequests, patienceMs, startSteadily, untilEnded } from '../pay.ts';
import { type BenchStage, withStage } from '../stage.ts';
import type { Say } from '../waits.ts';
import { LATENCY, LIMIT, SOON_FINAL, STRICT, WORKERS } from './settings.ts';

/** A call arrives this much later than it was sent: 25 ms ± 25 ms. */
const JITTER = { arrivesAfterMs: [0, 50] };

/** Twice what the limit lets through, so that there is always more to do than calls to do it with. */
const STARTED_A_SECOND = 10;

export async function rateLimit(payouts: number, say: Say) {
  const run = (stage: BenchStage) => payAll(stage, payouts, say);
  const workers = WORKERS;
  say('ours');
  const ours = await withStage({ workers, simulator: STRICT }, run);
  const simulator = { ...STRICT, ...JITTER };
  say('with ±25 ms of arrival jitter, which is known');
  const jittered = await withStage({ workers, simulator, env: { PAYMENTS_ARRIVAL_JITTER: '50ms' } }, run);
  say('with ±25 ms of arrival jitter, which nobody told it');
  const unknownJitter = await withStage({ workers, simulator }, run);
  say('plain Temporal: maxTaskQueueActivitiesPerSecond, default retries');
  const baseline = await withStage({ workers, simulator: STRICT, program: 'bench/plain-worker.ts' }, run);
  return {
    settings: { payouts, startedASecond: STARTED_A_SECOND, limit: LIMIT, workers, ...LATENCY },
    ...ours,
    jittered,
    unknownJitter,
    baseline,
  };
}

async function payAll(stage: BenchStage, payouts: number, say: Say) {
  const starting = startSteadily(stage, benchRequests(payouts, 'default', SOON_FINAL), STARTED_A_SECOND);
  await Promise.all([starting, untilEnded(stage, payouts, patienceMs(payouts, LIMIT), say)]);
  const calls = await stage.simulator.calls();
  const { debits, paidTwice } = await stage.simulator.ledger();
  const { utilisation, answered429, seconds } = callFigures(calls, LIMIT);
  // The simulator's own count: it knows when a call arrived after its jitter.
  const { maxCallsInAnySecond } = await stage.simulator.counts();
  return {
    utilisation,
    answered429,
    maxCallsInAnySecond,
    callsPerPayout: round(calls.length / payouts, 3),
    callsByOperation: countBy(calls, ({ operation }) => operation),
    payoutsPerSecond: round(payouts / seconds, 2),
    paidOnce: Object.values(debits).filter(({ count }) => count === 1).length,
    paidTwice: paidTwice.length,
    callsInSlidingSecond: callsInSlidingSecond(calls.map(({ atMs }) => atMs)),
  };
}
