/** One seed: payouts run while calls fail, answers are random and processes die. Then the ledger decides. */
import { setTimeout as sleep } from 'node:timers/promises';
import { countBy } from '../bench/measures.ts';
import { type BenchStage, withStage } from '../bench/stage.ts';
import type { PayoutResult } from '../src/contract/payout.ts';
import type { PayoutRequest } from '../src/contract/payout-request.ts';
import { discrepancies } from '../worlds/discrepancies.ts';
import { disruptAll } from './disrupt.ts';
import { queryStates, requestsOf, startOneByOne, untilAllEnd } from './payouts.ts';
import { type ChaosPlan, DISRUPTED_MS } from './plan.ts';
import { unhealthyWorkflows } from './workflow-health.ts';

export interface Violation {
  /** The id of a payout or a workflow, or the rate limit. */
  of: string;
  /** The broken invariant, in plain words. */
  what: string;
}

export interface SeedReport {
  seed: number;
  disruptions: string[];
  /** The number of payouts by outcome, and how many a person decided first. */
  outcomes: Record<string, number>;
  reviewed: number;
  /** Requests that met a fault, and requests with a random answer. */
  faultsMet: number;
  randomAnswers: number;
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
  // The simulator's trade queries ignore the client.
  PAYMENTS_CLIENT_PAIRS: 'trusted',
  PAYMENTS_CREATE_CODES: '429:busy,30001:lock-expired,30002:insufficient,30005:refused',
  // As often as the rate limit allows: every poll may get a random answer.
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
    disruptAll(stage, plan.disruptions),
    sleep(DISRUPTED_MS),
    startOneByOne(stage, requests),
    queryStates(stage, requests),
  ]);
  const faults = await simulator.faults();
  await simulator.removeFaults();
  const hits = (isRandom: boolean) =>
    faults
      .filter(({ kinds }) => kinds.includes('random-answer') === isRandom)
      .reduce((sum, { hit }) => sum + hit, 0);

  const { ended, late, reviewed } = await untilAllEnd(stage, requests, plan);
  const violations: Violation[] = late.map(({ request, why }) => ({
    of: request.partnerOrderId,
    what: `has not ended: ${why}`,
  }));
  const { outcomes, discrepant } = await judge(stage, ended);
  violations.push(...discrepant);
  const { maxCallsInAnySecond } = await simulator.counts();
  if (maxCallsInAnySecond > LIMIT)
    violations.push({ of: 'rate limit', what: `${maxCallsInAnySecond} calls in a second` });
  for (const { workflowId, why } of await unhealthyWorkflows(stage.client))
    violations.push({ of: workflowId, what: why });
  return {
    seed: plan.seed,
    disruptions: plan.disruptions.map(({ kind }) => kind),
    outcomes,
    reviewed,
    faultsMet: hits(false),
    randomAnswers: hits(true),
    maxCallsInAnySecond,
    seconds: Math.round((performance.now() - begunMs) / 1_000),
    violations,
    calls: await callsOf(stage, requests, violations),
  };
}

async function judge({ payouts, simulator }: BenchStage, ended: readonly PayoutRequest[]) {
  const results: PayoutResult[] = [];
  const discrepant: Violation[] = [];
  for (const request of ended) {
    // A failed payout has no result; the check of workflows reports it.
    const result = await payouts.result(request).catch(() => undefined);
    if (!result) continue;
    results.push(result);
    const ledger = await simulator.ledgerOf(request.partnerOrderId);
    discrepant.push(...discrepancies(result, ledger).map((what) => ({ of: request.partnerOrderId, what })));
  }
  return { outcomes: countBy(results, ({ outcome }) => outcome), discrepant };
}

/** For the analysis of a failed seed: the calls for each payout with a violation, and their answers. */
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
    calls[partnerOrderId] = collapsed(
      made.map(({ at, atMs, operation, status, code, fault }) => {
        const create = operation === 'createCnyOrder' && creates.find((sent) => isSameCall(sent.atMs, atMs));
        const effect = create ? `, ${create.effect}` : '';
        const text = `${operation}: ${status} ${code ?? ''}${effect}`;
        return { at, text: fault === null ? text : `${text} (${fault})` };
      }),
    );
  }
  return calls;
}

/** The simulator records both at the same time. */
function isSameCall(oneMs: number, otherMs: number): boolean {
  return Math.abs(oneMs - otherMs) < 1;
}

/** Repeated answers share one line. */
function collapsed(calls: readonly { at: string; text: string }[]): string[] {
  const runs: { at: string; text: string; times: number }[] = [];
  for (const { at, text } of calls) {
    const last = runs.at(-1);
    if (last?.text === text) last.times += 1;
    else runs.push({ at, text, times: 1 });
  }
  return runs.map(({ at, text, times }) => `${at} ${text}${times > 1 ? `, ${times} times` : ''}`);
}
