/**
 * Part 5: no notifications. Many payouts are open, and one order after another becomes final. How long until its payout has
 * ended, compared with the lower bound that the rate limit allows?
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { callFigures, countBy, percentile, percentiles, round } from '../measures.ts';
import { benchRequests, ended, patienceMs, startMany, untilEnded, untilOpen } from '../pay.ts';
import { roundRobinDetects } from '../round-robin.ts';
import { sample } from '../seeded.ts';
import { type BenchStage, withStage } from '../stage.ts';
import type { Say } from '../waits.ts';
import { LATENCY, LIMIT, STAYS_OPEN, STRICT, WORKERS } from './settings.ts';

/** The share of orders that become final, small enough that the number of open ones stays about the same. */
const FINAL_SHARE = 0.2;
/** They become final over several rounds of polling all payouts. */
const ROUNDS = 3;
/** Without notifications, payouts are polled often: only the rate limit decides how often. */
const POLLS = { PAYOUTS_POLL_FIRST: '10s', PAYOUTS_POLL_MAX: '30s' };
/** Longer than many rounds. */
const LONGEST_POLL_MS = 660_000;

export async function polling(payouts: number, say: Say) {
  const finals = Math.max(10, Math.round(payouts * FINAL_SHARE));
  const finalsOverMs = (ROUNDS * payouts * 1_000) / LIMIT;
  const settings = {
    openPayouts: payouts,
    ...POLLS,
    finals,
    finalsOverMs,
    limit: LIMIT,
    workers: WORKERS,
    ...LATENCY,
  };
  return withStage({ workers: WORKERS, simulator: STRICT, env: POLLS, notified: false }, async (stage) => {
    const requests = benchRequests(payouts, 'default', STAYS_OPEN);
    await startMany(stage, requests);
    await untilOpen(stage, payouts, patienceMs(payouts, LIMIT), say);
    const numbers = sample(
      requests.map(({ partnerOrderId }) => partnerOrderId),
      finals,
    );
    const begun = (await stage.simulator.calls()).length;
    await endOneByOne(stage, numbers, finalsOverMs, say);
    await untilEnded(stage, finals, LONGEST_POLL_MS + finalsOverMs, say);
    return { settings, ...(await figures(stage, payouts, new Set(numbers), begun)) };
  });
}

async function endOneByOne({ simulator }: BenchStage, numbers: readonly string[], overMs: number, say: Say) {
  const begunMs = performance.now();
  say(`${numbers.length} orders become final over ${Math.round(overMs / 1_000)} s`);
  for (const [at, number] of numbers.entries()) {
    await sleep(Math.max(0, begunMs + (at * overMs) / numbers.length - performance.now()));
    await simulator.changeOrder(number, { status: 'SUCCESS' });
  }
}

async function figures(stage: BenchStage, payouts: number, numbers: ReadonlySet<string>, begun: number) {
  const finals = await finalTimes(stage, numbers);
  const infos = await ended(stage, 'payout');
  const detects = infos.flatMap(({ workflowId, closeTime }) => {
    const finalMs = finals.get(workflowId.split(':').at(-1) ?? '');
    return finalMs === undefined || !closeTime ? [] : [closeTime.getTime() - finalMs];
  });
  const calls = await stage.simulator.calls();
  const least = leastPossible(payouts, [...finals.values()]);
  const pollCounts = countBy(
    calls.filter(({ operation }) => operation === 'queryResult'),
    ({ partnerOrderId }) => partnerOrderId ?? '',
  );
  const polls = [...numbers].reduce((sum, number) => sum + (pollCounts[number] ?? 0), 0);
  return {
    detectP50: round(percentile(detects, 0.5), 0),
    detectP99: round(percentile(detects, 0.99), 0),
    leastPossibleP50: round(percentile(least, 0.5), 0),
    leastPossibleP99: round(percentile(least, 0.99), 0),
    pollsPerPayout: round(polls / numbers.size, 2),
    answered429: callFigures(calls, LIMIT).answered429,
    utilisation: callFigures(calls.slice(begun), LIMIT).utilisation,
    detect: percentiles(detects),
    leastPossible: percentiles(least),
  };
}

/** When the simulator ended each order, by partnerOrderId, in ms since 1970. */
async function finalTimes({ simulator }: BenchStage, numbers: ReadonlySet<string>) {
  const { orders } = await simulator.ledger();
  const finals = new Map<string, number>();
  for (const { partnerOrderId, finishedAt } of orders)
    if (partnerOrderId !== null && finishedAt !== null && numbers.has(partnerOrderId))
      finals.set(partnerOrderId, Date.parse(finishedAt));
  return finals;
}

function leastPossible(payouts: number, finals: readonly number[]): number[] {
  const begunMs = Math.min(...finals);
  // The final ones are anywhere in the polling order.
  const places = sample(
    Array.from({ length: payouts }, (_, at) => at),
    finals.length,
  );
  const finalAtMs = Array.from({ length: payouts }, () => Number.POSITIVE_INFINITY);
  for (const [at, place] of places.entries()) finalAtMs[place] = (finals[at] ?? 0) - begunMs;
  return roundRobinDetects({ finalAtMs, callsPerSecond: LIMIT });
}
