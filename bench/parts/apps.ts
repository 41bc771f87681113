/**
 * Part 4: three applications, each with its own rate limit, share the processes. Does each use its full limit? Their orders
 * stay open and are polled without pauses, because only calls are measured: fifteen payouts per second are more than the
 * Temporal server of a small machine handles.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { callFigures } from '../measures.ts';
import { ownerOf } from '../owners.ts';
import { benchRequests, patienceMs, startMany, untilEnded, untilOpen } from '../pay.ts';
import { type BenchStage, withStage } from '../stage.ts';
import { type Say, untilFound } from '../waits.ts';
import { LATENCY, LIMIT, STAYS_OPEN, STRICT, WORKERS } from './settings.ts';

const APPS = ['north', 'east', 'south'];
/** The leases are spread over the processes within seconds. */
const SPREAD_WITHIN_MS = 60_000;
/** Per payout of an application: one minute at full size. */
const POLLED_FOR_EACH_MS = 600;
/** Many more polls than the rate limits allow. */
const FAST_POLLS = { PAYOUTS_POLL_FIRST: '1s', PAYOUTS_POLL_MAX: '1s' };

export async function apps(payoutsEach: number, say: Say) {
  const measuredMs = payoutsEach * POLLED_FOR_EACH_MS;
  const settings = { apps: APPS.length, payoutsEach, limit: LIMIT, workers: WORKERS, measuredMs, ...LATENCY };
  const options = { workers: WORKERS, apps: APPS, simulator: STRICT, env: FAST_POLLS, notified: false };
  return withStage(options, async (stage) => {
    const owners = await settledOwners(stage);
    say(`${owners} processes own the ${APPS.length} rate limits`);
    const numbers = await openAll(stage, payoutsEach, say);
    const begun = (await stage.simulator.calls()).length;
    await sleep(measuredMs);
    const ended = (await stage.simulator.calls()).length;
    for (const number of numbers) await stage.simulator.changeOrder(number, { status: 'SUCCESS' });
    await untilEnded(stage, numbers.length, patienceMs(numbers.length, LIMIT), say);
    return { settings, ...(await figures(stage, begun, ended)), owners: await settledOwners(stage) };
  });
}

/** Starts the payouts of the applications in turn, so that none has a head start. */
async function openAll(stage: BenchStage, payoutsEach: number, say: Say): Promise<string[]> {
  const lists = APPS.map((app) => benchRequests(payoutsEach, app, STAYS_OPEN));
  const inTurns = Array.from({ length: payoutsEach }, (_, at) => lists.flatMap((list) => list[at] ?? []));
  const payouts = payoutsEach * APPS.length;
  const open = untilOpen(stage, payouts, patienceMs(payouts, LIMIT), say);
  await Promise.all([startMany(stage, inTurns.flat()), open]);
  return inTurns.flat().map(({ partnerOrderId }) => partnerOrderId);
}

async function figures({ simulator }: BenchStage, begun: number, ended: number) {
  const all = await simulator.calls();
  const calls = all.slice(begun, ended);
  const { debits, paidTwice } = await simulator.ledger();
  const perApp = APPS.map((app) => {
    const own = calls.filter(({ appId }) => appId === `app-${app}`);
    const ever = all.filter(({ appId }) => appId === `app-${app}`);
    // The limit counts for all calls; the utilization counts while all payouts were open.
    return { app, ...callFigures(ever, LIMIT), utilisation: callFigures(own, LIMIT).utilisation };
  });
  const by = (value: (entry: (typeof perApp)[number]) => number) =>
    Object.fromEntries(perApp.map((entry) => [entry.app, value(entry)]));
  return {
    utilisation: by((entry) => entry.utilisation),
    answered429: by((entry) => entry.answered429),
    maxCallsInAnySecond: by((entry) => entry.maxCallsInAnySecond),
    paidOnce: Object.values(debits).filter(({ count }) => count === 1).length,
    paidTwice: paidTwice.length,
  };
}

/** The number of distinct lease owners, once each lease has one. */
async function settledOwners(stage: BenchStage): Promise<number> {
  let seen = 0;
  const spread = async () => {
    const owners = await Promise.all(APPS.map((app) => ownerOf(stage, app)));
    const pids = new Set(owners.flatMap((owner) => owner?.pid ?? []));
    seen = pids.size;
    return pids.size === Math.min(APPS.length, stage.workers.length) ? seen : undefined;
  };
  // A single owner for all is a valid figure, not a failure.
  return untilFound('leases spread', SPREAD_WITHIN_MS, spread).catch(() => seen);
}
