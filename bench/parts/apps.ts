/** Part 4: three applications, each with a limit of its own, share the processes: does each get its whole budget? */
import { callFigures } from '../measures.ts';
import { ownerOf } from '../owners.ts';
import { benchRequests, patienceMs, startMany, untilEnded } from '../pay.ts';
import { type BenchStage, withStage } from '../stage.ts';
import { type Say, untilSeen } from '../waits.ts';
import { LATENCY, LIMIT, SOON_FINAL, STRICT, WORKERS } from './settings.ts';

const APPS = ['north', 'east', 'south'];
/** Budgets are spread over the processes within some seconds. */
const SPREAD_WITHIN_MS = 60_000;

export async function apps(payoutsEach: number, say: Say) {
  const settings = { apps: APPS.length, payoutsEach, limit: LIMIT, workers: WORKERS, ...LATENCY };
  return withStage({ workers: WORKERS, apps: APPS, simulator: STRICT }, async (stage) => {
    const owners = await settledOwners(stage);
    say(`${owners} processes own the ${APPS.length} budgets`);
    await payAll(stage, payoutsEach, say);
    return { settings, ...(await figures(stage)), owners: await settledOwners(stage) };
  });
}

/** Started in turns, so that no application has a head start. */
async function payAll(stage: BenchStage, payoutsEach: number, say: Say): Promise<void> {
  const lists = APPS.map((app) => benchRequests(payoutsEach, app, SOON_FINAL));
  const inTurns = Array.from({ length: payoutsEach }, (_, at) => lists.flatMap((list) => list[at] ?? []));
  const payouts = payoutsEach * APPS.length;
  const ends = untilEnded(stage, payouts, patienceMs(payouts, LIMIT), say);
  await Promise.all([startMany(stage, inTurns.flat()), ends]);
}

async function figures({ simulator }: BenchStage) {
  const calls = await simulator.calls();
  const { debits, paidTwice } = await simulator.ledger();
  const perApp = APPS.map((app) => {
    const own = calls.filter(({ appId }) => appId === `app-${app}`);
    return { app, ...callFigures(own, LIMIT) };
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

/** How many distinct processes own the budgets, once each is owned. */
async function settledOwners(stage: BenchStage): Promise<number> {
  let seen = 0;
  const spread = async () => {
    const owners = await Promise.all(APPS.map((app) => ownerOf(stage, app)));
    const pids = new Set(owners.flatMap((owner) => owner?.pid ?? []));
    seen = pids.size;
    return pids.size === Math.min(APPS.length, stage.workers.length) ? seen : undefined;
  };
  // One process for all is a figure too, and no reason to fail.
  return untilSeen('budgets spread', SPREAD_WITHIN_MS, spread).catch(() => seen);
}
