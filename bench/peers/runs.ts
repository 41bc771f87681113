/** The runs: what each tool does with the same payouts, and what the simulator's record says about it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type FaultInput, type FaultRuleInput, transportFaults } from '../../simulator/index.ts';
import { callFigures, mostInOneSecond, percentile, round } from '../measures.ts';
import { cpuMs, rssMiB } from '../process-use.ts';
import { eachOf, type Say, steadily, TimedOut } from '../waits.ts';
import type { RunFigures, RunName } from './figures.ts';
import type { Ended } from './peer.ts';
import type { Payout } from './provider.ts';
import { type Options, type Subject, type SubjectName, withSubject } from './subject.ts';

const LIMIT = 20;
const LATENCY = { answersAfterMs: [50, 150] };
/** Twice what the limit allows, so that calls always wait. */
const STARTS_PER_SECOND = 10;
const AT_ONCE = 25;
const SOON_FINAL = 'success final=1s';
const STAYS_OPEN = 'stuck';
const LIMITED: Options = {
  simulator: { callsPerSecond: LIMIT, ...LATENCY },
  callsPerSecond: LIMIT,
  pollMs: 30_000,
  callTimeoutMs: 5_000,
};
const UNLIMITED: Options = {
  ...LIMITED,
  simulator: { callsPerSecond: 1_000_000, ...LATENCY },
  callsPerSecond: 1_000,
};
const PATIENCE_MS = 240_000;

type Run<Name extends RunName> = (
  subject: SubjectName,
  payouts: number,
  say: Say,
) => Promise<RunFigures[Name]>;

function payoutsOf(count: number, scenarioOf: (at: number) => string): Payout[] {
  return Array.from({ length: count }, (_, at) => ({ id: `p-${at}`, scenario: scenarioOf(at) }));
}

const limit: Run<'limit'> = (name, count, say) =>
  withSubject(name, LIMITED, async (subject) => {
    const payouts = payoutsOf(count, () => SOON_FINAL);
    await steadily(payouts, STARTS_PER_SECOND, (payout) => subject.start(payout));
    const ended = await untilEnded(subject, count, say);
    const calls = await subject.simulator.calls();
    const { utilisation, answered429 } = callFigures(calls, LIMIT);
    const { creates, orders } = await subject.simulator.ledger();
    const locks = creates.flatMap(({ lockAgeMs }) => lockAgeMs ?? []);
    const finalMs = new Map(orders.map((one) => [one.partnerOrderId, Date.parse(one.finishedAt ?? '')]));
    const waits = ended.map(({ id, atMs }) => atMs - (finalMs.get(id) ?? Number.NaN));
    return {
      payouts: count,
      maxCallsInAnySecond: mostInOneSecond(calls.map(({ atMs }) => atMs)),
      answered429,
      utilization: utilisation,
      callsPerPayout: round(calls.length / count, 2),
      lockToCreate: { p50: round(percentile(locks, 0.5), 0), p99: round(percentile(locks, 0.99), 0) },
      finalToEnded: { p50: round(percentile(waits, 0.5), 0), p99: round(percentile(waits, 0.99), 0) },
    };
  });

const unlimited: Run<'unlimited'> = (name, count, say) =>
  withSubject(name, UNLIMITED, async (subject) => {
    // Warms the processes up: their code is compiled while it runs.
    const warmUp = payoutsOf(30, () => SOON_FINAL).map((one) => ({ ...one, id: `w-${one.id}` }));
    await eachOf(warmUp, AT_ONCE, (payout) => subject.start(payout));
    await untilEnded(subject, warmUp.length, say);
    const begunMs = Date.now();
    await eachOf(
      payoutsOf(count, () => SOON_FINAL),
      AT_ONCE,
      (payout) => subject.start(payout),
    );
    const ended = await untilEnded(subject, warmUp.length + count, say);
    const endMs = Math.max(...ended.map(({ atMs }) => atMs));
    return { payouts: count, payoutsPerSecond: round((count * 1_000) / (endMs - begunMs), 1) };
  });

const CALL_TIMEOUT_MS = 2_000;
const BEYOND_TIMEOUT_MS = 2 * CALL_TIMEOUT_MS;
/** As in `npm run chaos`. Random responses are left out: they test what a job compares, and not its tool. */
const KINDS: readonly FaultInput[] = [
  ...transportFaults(BEYOND_TIMEOUT_MS),
  { kind: 'envelope', code: 900000 },
  { kind: 'envelope', code: 900000, effect: 'commit' },
  { kind: 'status', status: 429 },
  { kind: 'status', status: 503, effect: 'commit' },
];
const FAULT_RATE = 0.2;
const FAULTS: readonly FaultRuleInput[] = (
  ['fee', 'createCnyOrder', 'queryResult', 'queryPayDetail'] as const
).map((operation, at) => ({ operation, seed: at + 1, probability: FAULT_RATE, kinds: [...KINDS] }));
/** Of the last, queries say for a while that there is no order. */
const SCENARIOS = [
  'success',
  'failure',
  'partial',
  'success notify=lost',
  'success notify=doubled',
  'success readLag=3s',
];
const KILL_EVERY_MS = 8_000;
/** A supervisor starts a killed worker again. */
const RESTART_MS = 1_000;
const ENDS_WITHIN_MS = 90_000;

const faults: Run<'faults'> = (name, count, say) =>
  withSubject(name, { ...LIMITED, pollMs: 3_000, callTimeoutMs: CALL_TIMEOUT_MS }, async (subject) => {
    const { simulator } = subject;
    for (const rule of FAULTS) await simulator.addFault(rule);
    const payouts = payoutsOf(count, (at) => SCENARIOS[at % SCENARIOS.length] ?? 'success');
    let isOver = false;
    const killing = (async () => {
      let kills = 0;
      for (; !isOver; kills += 1) {
        await sleep(KILL_EVERY_MS);
        const again = await subject.killWorker(kills);
        await sleep(RESTART_MS);
        await again();
      }
      return kills;
    })();
    await steadily(payouts, 3, (payout) => untilStarted(subject, payout));
    isOver = true;
    const kills = await killing;
    const hits = (await simulator.faults()).reduce((sum, { hit }) => sum + hit, 0);
    await simulator.removeFaults();
    const inReview = async () => subject.inReview();
    const begunMs = performance.now();
    let ended = await subject.ended();
    while (ended.length + (await inReview()) < count && performance.now() - begunMs < ENDS_WITHIN_MS) {
      say(`${ended.length} ended, ${await inReview()} in review`);
      await sleep(2_000);
      ended = await subject.ended();
    }
    // What was delayed may still take effect.
    await sleep(BEYOND_TIMEOUT_MS);
    const { orders, paidTwice } = await simulator.ledger();
    const stateOf = new Map(orders.map(({ partnerOrderId, status }) => [partnerOrderId, status]));
    const isRight = ({ id, outcome }: Ended) =>
      ['ERROR', 'NOT_CREATED'].includes(outcome) ? !stateOf.has(id) : stateOf.get(id) === outcome;
    return {
      payouts: count,
      faults: hits,
      kills,
      paidTwice: paidTwice.length,
      lost: count - ended.length,
      wrong: ended.filter((one) => !isRight(one)).length,
      notCreated: ended.filter(({ id }) => !stateOf.has(id)).length,
      inReview: await inReview(),
    };
  });

async function untilStarted(subject: Subject, payout: Payout): Promise<void> {
  for (let left = 60; ; left -= 1)
    try {
      return await subject.start(payout);
    } catch (error) {
      if (left === 0) throw error;
      await sleep(500);
    }
}

const kill: Run<'kill'> = (name, count, say) =>
  withSubject(name, LIMITED, async (subject) => {
    const payouts = payoutsOf(count, () => SOON_FINAL);
    const starting = steadily(payouts, 4, (payout) => subject.start(payout));
    await sleep((count * 1_000) / 4 / 2);
    const killedMs = performance.timeOrigin + performance.now();
    const again = await subject.killWorker(0);
    const endedThen = new Set((await subject.ended()).map(({ id }) => id));
    await sleep(RESTART_MS);
    await again();
    await starting;
    const startedMs = performance.timeOrigin + performance.now();
    await untilEnded(subject, count, say);
    const calls = (await subject.simulator.calls()).map(({ at, partnerOrderId }) => ({
      atMs: Date.parse(at),
      id: partnerOrderId ?? '',
    }));
    const before = new Set(calls.filter(({ atMs }) => atMs < killedMs).map(({ id }) => id));
    const open = [...before].filter((id) => id.startsWith('p-') && !endedThen.has(id));
    const next = open.flatMap(
      (id) => calls.find((call) => call.id === id && call.atMs >= killedMs)?.atMs ?? [],
    );
    // Later, payouts may wait for a poll.
    const times = calls.map(({ atMs }) => atMs);
    const gaps = times.map((atMs, at) => (atMs < startedMs ? (times[at + 1] ?? atMs) - atMs : 0));
    return {
      open: open.length,
      recoveryMs: round(Math.max(0, ...next) - killedMs, 0),
      longestGapMs: Math.max(...gaps.filter((_, at) => (times[at + 1] ?? 0) >= killedMs)),
    };
  });

const IDLE_MS = 10_000;

const waiting: Run<'waiting'> = (name, count, say) =>
  withSubject(name, { ...UNLIMITED, pollMs: 6 * 3_600_000, notified: false }, async (subject) => {
    await eachOf(
      payoutsOf(count, () => STAYS_OPEN),
      AT_ONCE,
      (payout) => subject.start(payout),
    );
    const begunMs = performance.now();
    for (let orders = 0; orders < count; { orders } = await subject.simulator.counts()) {
      if (performance.now() - begunMs > PATIENCE_MS) throw new TimedOut(`${orders} of ${count} orders`);
      say(`${orders} orders`);
      await sleep(2_000);
    }
    // The last steps and timers are stored.
    await sleep(10_000);
    const sum = (pids: readonly number[], of: (pid: number) => number) =>
      pids.reduce((total, pid) => total + of(pid), 0);
    const use = () => ({
      workers: sum(subject.workerPids(), cpuMs),
      server: sum(subject.serverPids(), cpuMs),
    });
    const [then, answeredThen] = [use(), await subject.answered()];
    await sleep(IDLE_MS);
    const [now, answeredNow] = [use(), await subject.answered()];
    const perSecond = (difference: number) => round((difference * 1_000) / IDLE_MS, 1);
    return {
      open: count,
      workers: round(sum(subject.workerPids(), rssMiB), 0),
      server: round(sum(subject.serverPids(), rssMiB), 0),
      idleWorkers: perSecond(now.workers - then.workers),
      idleServer: perSecond(now.server - then.server),
      ...(answeredThen !== undefined &&
        answeredNow !== undefined && { idlePerSecond: perSecond(answeredNow - answeredThen) }),
    };
  });

export const RUNS: { [Name in RunName]: Run<Name> } = { limit, unlimited, faults, kill, waiting };
/** The full numbers of payouts. */
export const FULL: Record<RunName, number> = {
  limit: 200,
  unlimited: 100,
  faults: 150,
  kill: 40,
  waiting: 200,
};

async function untilEnded(subject: Subject, count: number, say: Say): Promise<Ended[]> {
  const begunMs = performance.now();
  for (let saidMs = begunMs; ; ) {
    const ended = await subject.ended();
    if (ended.length >= count) return ended;
    if (performance.now() - begunMs > PATIENCE_MS) throw new TimedOut(`${ended.length} of ${count} ended`);
    if (performance.now() - saidMs > 10_000) {
      say(`${ended.length}/${count}`);
      saidMs = performance.now();
    }
    await sleep(1_000);
  }
}
