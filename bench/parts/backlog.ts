/**
 * Part 2: all payouts start at once. How long does a lock wait for its create, compared with a first-in, first-out queue? There
 * the locks must not expire: at their real lifetime, every lock would expire before its create's turn, and no order would be
 * created.
 */
import { callFigures, percentile, percentiles, round } from '../measures.ts';
import { benchRequests, patienceMs, startMany, untilEnded } from '../pay.ts';
import { type BenchStage, type StageOptions, withStage } from '../stage.ts';
import type { Say } from '../waits.ts';
import { LATENCY, LIMIT, SOON_FINAL, STRICT, WORKERS } from './settings.ts';

const LOCK_LIFETIME_MS = 60_000;
const NEVER_MS = 86_400_000;

const FIRST_IN_FIRST_OUT: StageOptions = {
  workers: WORKERS,
  simulator: { ...STRICT, lockLifetimeMs: NEVER_MS },
  env: { PAYMENTS_LOCK_LIFETIME: '1d' },
  dynamicConfig: { 'matching.useNewMatcher': false, 'matching.enableFairness': false },
};

/** In a first-in, first-out queue each lock waits for all later quotes, so a share of the payouts gives a lower bound. */
const BASELINE_SHARE = 0.2;

export async function backlog(payouts: number, say: Say) {
  const baselinePayouts = Math.round(payouts * BASELINE_SHARE);
  say('ours');
  const simulator = { ...STRICT, lockLifetimeMs: LOCK_LIFETIME_MS };
  const ours = await withStage({ workers: WORKERS, simulator }, (stage) => payAll(stage, payouts, say));
  say(`first in, first out: ${baselinePayouts} payouts`);
  const baseline = await withStage(FIRST_IN_FIRST_OUT, (stage) => payAll(stage, baselinePayouts, say));
  const settings = {
    payouts,
    baselinePayouts,
    limit: LIMIT,
    workers: WORKERS,
    lockLifetimeMs: LOCK_LIFETIME_MS,
    ...LATENCY,
  };
  return { settings, ...ours, baseline };
}

async function payAll(stage: BenchStage, payouts: number, say: Say) {
  await startMany(stage, benchRequests(payouts, 'default', SOON_FINAL));
  await untilEnded(stage, payouts, patienceMs(payouts, LIMIT), say);
  const waits = await lockToCreate(stage);
  const calls = await stage.simulator.calls();
  const quotes = calls.filter(({ operation, status }) => operation === 'fee' && status === 200).length;
  const tooLate = waits.filter((ms) => ms > LOCK_LIFETIME_MS).length;
  return {
    lockToCreateP50: round(percentile(waits, 0.5), 0),
    lockToCreateP99: round(percentile(waits, 0.99), 0),
    // With the real lifetime, such a lock would have cost one more quote.
    requotes: quotes - payouts + tooLate,
    answered429: callFigures(calls, LIMIT).answered429,
    lockToCreate: percentiles(waits),
  };
}

async function lockToCreate(stage: BenchStage): Promise<number[]> {
  const { creates } = await stage.simulator.ledger();
  return creates.flatMap(({ lockAgeMs }) => (lockAgeMs === null ? [] : [lockAgeMs]));
}
