/** Part 1: how much of the rate limit is used, and whether it is exceeded, compared with Temporal alone. */
import { callFigures, callsInSlidingSecond, countBy, round } from '../measures.ts';
import { benchRequests, patienceMs, startSteadily, untilEnded } from '../pay.ts';
import { type BenchStage, withStage } from '../stage.ts';
import type { Say } from '../waits.ts';
import { LATENCY, LIMIT, SOON_FINAL, STRICT, WORKERS } from './settings.ts';

/** The delay between the send and the arrival of a call: 25 ms ± 25 ms. */
const JITTER = { arrivesAfterMs: [0, 50] };

/** Twice what the limit allows, so that calls are always queued. */
const STARTS_PER_SECOND = 10;

export async function rateLimit(payouts: number, say: Say) {
  const run = (stage: BenchStage) => payAll(stage, payouts, say);
  const workers = WORKERS;
  say('ours');
  const ours = await withStage({ workers, simulator: STRICT }, run);
  const simulator = { ...STRICT, ...JITTER };
  say('with ±25 ms of arrival jitter');
  const jittered = await withStage({ workers, simulator }, run);
  say('plain Temporal: maxTaskQueueActivitiesPerSecond, default retries');
  const baseline = await withStage({ workers, simulator: STRICT, program: 'bench/plain-worker.ts' }, run);
  return {
    settings: { payouts, startedASecond: STARTS_PER_SECOND, limit: LIMIT, workers, ...LATENCY },
    ...ours,
    jittered,
    baseline,
  };
}

async function payAll(stage: BenchStage, payouts: number, say: Say) {
  const starting = startSteadily(stage, benchRequests(payouts, 'default', SOON_FINAL), STARTS_PER_SECOND);
  await Promise.all([starting, untilEnded(stage, payouts, patienceMs(payouts, LIMIT), say)]);
  const calls = await stage.simulator.calls();
  const { debits, paidTwice } = await stage.simulator.ledger();
  const { utilisation, answered429, seconds } = callFigures(calls, LIMIT);
  // The simulator's own count, which includes the jitter.
  const { maxCallsInAnySecond } = await stage.simulator.counts();
  return {
    utilisation,
    answered429,
    creates429: calls.filter(({ operation, status }) => operation === 'createCnyOrder' && status === 429)
      .length,
    maxCallsInAnySecond,
    callsPerPayout: round(calls.length / payouts, 3),
    callsByOperation: countBy(calls, ({ operation }) => operation),
    payoutsPerSecond: round(payouts / seconds, 2),
    paidOnce: Object.values(debits).filter(({ count }) => count === 1).length,
    paidTwice: paidTwice.length,
    callsInSlidingSecond: callsInSlidingSecond(calls.map(({ atMs }) => atMs)),
  };
}
