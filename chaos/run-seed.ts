/** One seed: payouts under way while calls fail, answers lie and processes die; then the ledger judges. */
import { setTimeout as sleep } from 'node:timers/promises';
import { countBy } from '../bench/measures.ts';
import { type BenchStage, withStage } from '../bench/stage.ts';
import type { PayoutRequest, PayoutResult } from '../src/domain/payout.ts';
import { lookAtAll, requestsOf, startOneByOne, untilAllEnd } from './payouts.ts';
import { type ChaosPlan, TROUBLE_MS } from './plan.ts';
import { strikeAll } from './strike.ts';
import { lies } from './truth.ts';
import { unhealthyWorkflows } from './workflow-health.ts';

export interface Violation {
  /** A payout, a workflow, or the limit. */
  of: string;
  /** What must never be, in plain words. */
  what: string;
}

export interface SeedReport {
  seed: number;
  strikes: string[];
  /** How often each outcome, and how many of the payouts a person had to decide on first. */
  outcomes: Record<string, number>;
  reviewed: number;
  /** Requests that met a fault, and those that were answered at random. */
  faultsMet: number;
  liesTold: number;
  maxCallsInAnySecond: number;
  seconds: number;
  violations: Violation[];
  /** The calls about each payout with a violation, in their order. */
  calls: Record<string, string[]>;
}

const WORKERS = 2;
const LIMIT = 20;

const ENVIRONMENT = {
  PAYMENTS_CALL_TIMEOUT: '2s',
  PAYMENTS_CREATE_CODES: '429:busy,30001:lock-expired,30002:insufficient,30005:refused',
  // As often as the rate limit allows: an answer that nobody asks for cannot lie.
  PAYOUTS_POLL_FIRST: '1s',
  PAYOUTS_POLL_MAX: '3s',
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
  const requests = requestsOf(plan);
  for (const rule of plan.faults) await simulator.addFault(rule);
  await Promise.all([
    strikeAll(stage, plan.strikes),
    sleep(TROUBLE_MS),
    startOneByOne(stage, requests),
    lookAtAll(stage, requests),
  ]);
  const faults = await simulator.faults();
  await simulator.removeFaults();
  const hits = (isLie: boolean) =>
    faults
      .filter(({ kinds }) => kinds.includes('random-answer') === isLie)
      .reduce((sum, { hit }) => sum + hit, 0);

  const { ended, late, reviewed } = await untilAllEnd(stage, requests, plan);
  const violations: Violation[] = late.map(({ request, why }) => ({
    of: request.partnerOrderId,
    what: `has not ended: ${why}`,
  }));
  const { outcomes, untruths } = await judge(stage, ended);
  violations.push(...untruths);
  const { maxCallsInAnySecond } = await simulator.counts();
  if (maxCallsInAnySecond > LIMIT)
    violations.push({ of: 'rate limit', what: `${maxCallsInAnySecond} calls in a second` });
  for (const { workflowId, why } of await unhealthyWorkflows(stage.client))
    violations.push({ of: workflowId, what: why });
  return {
    seed: plan.seed,
    strikes: plan.strikes.map(({ kind }) => kind),
    outcomes,
    reviewed,
    faultsMet: hits(false),
    liesTold: hits(true),
    maxCallsInAnySecond,
    seconds: Math.round((performance.now() - begunMs) / 1_000),
    violations,
    calls: await callsOf(stage, requests, violations),
  };
}

async function judge({ payouts, simulator }: BenchStage, ended: readonly PayoutRequest[]) {
  const results: PayoutResult[] = [];
  const untruths: Violation[] = [];
  for (const request of ended) {
    // One that failed has no result; it is found among the workflows that are not well.
    const result = await payouts.result(request).catch(() => undefined);
    if (!result) continue;
    results.push(result);
    const ledger = await simulator.ledgerOf(request.partnerOrderId);
    untruths.push(...lies(result, ledger).map((what) => ({ of: request.partnerOrderId, what })));
  }
  return { outcomes: countBy(results, ({ outcome }) => outcome), untruths };
}

/** What to read where a seed has failed: what was asked about the payout, and what was answered. */
async function callsOf(
  { simulator }: BenchStage,
  requests: readonly PayoutRequest[],
  violations: readonly Violation[],
): Promise<Record<string, string[]>> {
  const calls: Record<string, string[]> = {};
  for (const { partnerOrderId } of requests) {
    if (!violations.some(({ of }) => of.endsWith(partnerOrderId))) continue;
    const made = await simulator.calls({ partnerOrderId });
    const { creates } = await simulator.ledgerOf(partnerOrderId);
    calls[partnerOrderId] = inRuns(
      made.map(({ at, atMs, operation, status, code, fault }) => {
        const create = operation === 'createCnyOrder' && creates.find((sent) => isSameCall(sent.atMs, atMs));
        const effect = create ? `, ${create.effect}` : '';
        const told = `${operation}: ${status} ${code ?? ''}${effect}`;
        return { at, told: fault === null ? told : `${told} (${fault})` };
      }),
    );
  }
  return calls;
}

/** The simulator notes both at the same moment. */
function isSameCall(oneMs: number, otherMs: number): boolean {
  return Math.abs(oneMs - otherMs) < 1;
}

/** What was answered again and again is one line. */
function inRuns(calls: readonly { at: string; told: string }[]): string[] {
  const runs: { at: string; told: string; times: number }[] = [];
  for (const { at, told } of calls) {
    const last = runs.at(-1);
    if (last?.told === told) last.times += 1;
    else runs.push({ at, told, times: 1 });
  }
  return runs.map(({ at, told, times }) => `${at} ${told}${times > 1 ? `, ${times} times` : ''}`);
}
