/** One seed: payouts under way while calls fail and processes die; then the truth is looked at. */
import { setTimeout as sleep } from 'node:timers/promises';
import { countBy } from '../bench/measures.ts';
import { benchRequest } from '../bench/pay.ts';
import { type BenchStage, withStage } from '../bench/stage.ts';
import type { PayoutRequest } from '../src/domain/payout.ts';
import type { PayoutRef } from '../src/starters/payouts.ts';
import { type ChaosPlan, TROUBLE_MS } from './plan.ts';
import { strikeAll, supervise } from './strike.ts';
import { lies } from './truth.ts';

export interface SeedReport {
  seed: number;
  strikes: string[];
  /** How often each outcome, and how many of the payouts a person had to decide on first. */
  outcomes: Record<string, number>;
  reviewed: number;
  /** Requests that met a fault. */
  faultsMet: number;
  maxCallsInAnySecond: number;
  seconds: number;
  /** What must never be, in plain words. */
  violations: string[];
}

const WORKERS = 2;
const LIMIT = 20;
const ENDS_WITHIN_MS = 240_000;
const LOOK_EVERY_MS = 1_000;

const ENVIRONMENT = {
  PAYMENTS_CALL_TIMEOUT: '2s',
  PAYMENTS_CREATE_CODES: '429:busy,30001:lock-expired,30002:insufficient,30005:refused',
  // The simulator counts arrivals on a machine that dies and comes up all the time.
  PAYMENTS_ARRIVAL_JITTER: '150ms',
  PAYOUTS_POLL_FIRST: '2s',
  PAYOUTS_POLL_MAX: '4s',
};

export function runSeed(plan: ChaosPlan): Promise<SeedReport> {
  const { repeatsAreRefused } = plan;
  const options = {
    workers: WORKERS,
    lasting: true,
    simulator: { callsPerSecond: LIMIT, repeatedCreate: repeatsAreRefused ? 'refuse' : 'pay-again' },
    env: { ...ENVIRONMENT, PAYMENTS_REPEATED_CREATE: repeatsAreRefused ? 'safe' : 'review' },
  };
  return withStage(options, (stage) => pay(stage, plan));
}

async function pay(stage: BenchStage, plan: ChaosPlan): Promise<SeedReport> {
  const begunMs = performance.now();
  const { simulator } = stage;
  const requests = plan.scenarios.map((scenario, at) => benchRequest(at, 'default', scenario));
  const rules = await Promise.all(plan.faults.map((rule) => simulator.addFault(rule)));
  const trouble = strikeAll(stage, plan.strikes);
  await Promise.all([trouble, sleep(TROUBLE_MS), startOneByOne(stage, requests)]);
  const faultsMet = (await simulator.faults()).reduce((sum, { hit }) => sum + hit, 0);
  for (const { id } of rules) await simulator.removeFault(id);
  const { reviewed, late } = await untilAllEnd(stage, requests);
  const violations = late.map(({ partnerOrderId }) => `${partnerOrderId}: has not ended`);
  const ended = requests.filter((request) => !late.includes(request));
  const results = await Promise.all(ended.map((request) => stage.payouts.result(request)));
  for (const result of results) {
    const ledger = await simulator.ledgerOf(result.partnerOrderId);
    violations.push(...lies(result, ledger).map((lie) => `${result.partnerOrderId}: ${lie}`));
  }
  const { maxCallsInAnySecond } = await simulator.counts();
  if (maxCallsInAnySecond > LIMIT) violations.push(`${maxCallsInAnySecond} calls in a second`);
  return {
    seed: plan.seed,
    strikes: plan.strikes.map(({ kind }) => kind),
    outcomes: countBy(results, ({ outcome }) => outcome),
    reviewed,
    faultsMet,
    maxCallsInAnySecond,
    seconds: Math.round((performance.now() - begunMs) / 1_000),
    violations,
  };
}

/** Over most of the trouble, so that a strike finds payouts in every phase. */
async function startOneByOne({ payouts }: BenchStage, requests: readonly PayoutRequest[]): Promise<void> {
  const apartMs = (0.8 * TROUBLE_MS) / requests.length;
  await Promise.all(
    requests.map(async (request, at) => {
      await sleep(at * apartMs);
      await untilStarted(() => payouts.start(request));
    }),
  );
}

/** A start whose answer was lost is started again: it joins what is there. */
async function untilStarted(start: () => Promise<unknown>): Promise<void> {
  const untilMs = performance.now() + ENDS_WITHIN_MS;
  for (;;) {
    try {
      await start();
      return;
    } catch (error) {
      if (performance.now() > untilMs) throw error;
      await sleep(LOOK_EVERY_MS);
    }
  }
}

/** Where a person has to decide, one does, by looking at the service. */
async function untilAllEnd<Ref extends PayoutRef>(stage: BenchStage, refs: readonly Ref[]) {
  const untilMs = performance.now() + ENDS_WITHIN_MS;
  const reviewed = new Set<Ref>();
  let open = [...refs];
  while (open.length > 0 && performance.now() < untilMs) {
    await supervise(stage);
    const phases = await Promise.all(open.map((ref) => phaseOf(stage, ref)));
    const toReview = open.filter((_, at) => phases[at] === 'NEEDS_REVIEW');
    for (const ref of toReview) {
      reviewed.add(ref);
      await decide(stage, ref).catch(() => undefined);
    }
    open = open.filter((_, at) => phases[at] !== 'DONE');
    if (open.length > 0) await sleep(LOOK_EVERY_MS);
  }
  return { reviewed: reviewed.size, late: open };
}

/** As Temporal knows it, so that no worker is asked again and again. Undefined while nobody answers. */
async function phaseOf({ payouts }: BenchStage, ref: PayoutRef): Promise<unknown> {
  const found = await payouts
    .handle(ref)
    .describe()
    .catch(() => undefined);
  return found?.status.name === 'COMPLETED' ? 'DONE' : found?.searchAttributes['PayoutPhase']?.[0];
}

async function decide({ payouts, simulator }: BenchStage, ref: PayoutRef): Promise<void> {
  const { orders } = await simulator.ledgerOf(ref.partnerOrderId);
  const [order] = orders;
  const by = 'chaos';
  await payouts.resolve(
    ref,
    order ? { by, created: true, orderId: order.orderId } : { by, created: false, then: 'retry' },
  );
}
