/** Pays steadily while one thing is killed, and compares all results with the provider's ledger. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Topology } from '../../scripts/topology.ts';
import { type SimulatorControlClient, simulatorControl } from '../../simulator/control/client.ts';
import { Payouts } from '../../src/client/payouts.ts';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';
import { discrepancies } from '../../worlds/discrepancies.ts';
import { decide } from '../payouts.ts';
import { PayoutStream } from '../stream.ts';
import type { Kill } from './kills.ts';

const BEFORE_MS = 10_000;
const AFTER_MS = 15_000;
/** Only stops what hangs: on a busy machine, quotes expire and payouts take minutes. */
const ENDS_WITHIN_MS = 1_200_000;
const LOOK_EVERY_MS = 1_000;

export interface KillReport {
  name: string;
  what: string;
  started: number;
  /** The longest time without a create, from the kill on, and when it ended, counted from the kill. */
  pauseMs: number;
  goesOnAfterMs: number;
  /** Payouts that did not end with an outcome. */
  lost: string[];
  /** Payouts for which money left more than once. */
  paidTwice: string[];
  /** Results that differ from the ledger. */
  wrong: string[];
  /** Payouts that a person had to decide on. */
  reviewed: number;
}

interface Stage {
  payouts: Payouts;
  simulator: SimulatorControlClient;
}

export async function measureKill(topology: Topology, client: Client, kill: Kill): Promise<KillReport> {
  await kill.prepare?.(topology);
  const stage = {
    payouts: new Payouts({ client, environment: 'test' }),
    simulator: simulatorControl(topology.simulatorUrl),
  };
  const stream = new PayoutStream(topology, kill.name);
  const streaming = stream.run();
  await sleep(BEFORE_MS);
  const killedMs = Date.now();
  await kill.run(topology, client);
  await sleep(AFTER_MS);
  const stoppedMs = Date.now();
  stream.stop();
  const requests = await streaming;
  const { lost, reviewed } = await untilAllEnd(stage, requests);
  const creates = (await stage.simulator.calls({ operation: 'createCnyOrder' }))
    .filter(({ partnerOrderId }) => partnerOrderId?.startsWith(`${kill.name}-`))
    .map(({ at }) => Date.parse(at));
  const judged = await judge(stage, requests, lost);
  await kill.restore?.(topology);
  return {
    ...{ name: kill.name, what: kill.what, started: requests.length, lost, reviewed },
    ...longestPause(creates, killedMs, stoppedMs),
    ...judged,
  };
}

async function untilAllEnd(stage: Stage, requests: readonly PayoutRequest[]) {
  const reviewed = new Set<string>();
  const failed: string[] = [];
  let open = [...requests];
  for (const untilMs = Date.now() + ENDS_WITHIN_MS; open.length > 0 && Date.now() < untilMs; ) {
    const statuses: (string | undefined)[] = [];
    for (const request of open) statuses.push(await statusOf(stage, request));
    const still = open.filter((_, at) => statuses[at] === undefined || statuses[at] === 'RUNNING');
    const completed = open.filter((_, at) => statuses[at] === 'COMPLETED');
    failed.push(...open.filter((one) => !still.includes(one) && !completed.includes(one)).map(idOf));
    for (const request of still) if (await isReviewed(stage, request)) reviewed.add(idOf(request));
    open = still;
    if (open.length > 0) await sleep(LOOK_EVERY_MS);
  }
  return { lost: [...open.map(idOf), ...failed], reviewed: reviewed.size };
}

function idOf({ partnerOrderId }: PayoutRequest): string {
  return partnerOrderId;
}

/** Undefined while Temporal does not answer. */
async function statusOf({ payouts }: Stage, request: PayoutRequest): Promise<string | undefined> {
  return payouts
    .handle(request)
    .describe()
    .then(
      ({ status }) => status.name,
      () => undefined,
    );
}

/** Decides on it, from the ledger, if it waits for a person. */
async function isReviewed(stage: Stage, request: PayoutRequest): Promise<boolean> {
  const state = await stage.payouts.state(request).catch(() => undefined);
  if (state?.phase !== 'NEEDS_REVIEW') return false;
  await decide(stage, request, 'retry', state);
  return true;
}

async function judge({ payouts, simulator }: Stage, requests: readonly PayoutRequest[], lost: string[]) {
  const paidTwice: string[] = [];
  const wrong: string[] = [];
  for (const request of requests) {
    const { partnerOrderId } = request;
    const ledger = await simulator.ledgerOf(partnerOrderId);
    if (ledger.debits > 1) paidTwice.push(partnerOrderId);
    if (lost.includes(partnerOrderId)) continue;
    const found = discrepancies(await payouts.result(request), ledger);
    if (found.length > 0) wrong.push(`${partnerOrderId}: ${found.join('; ')}`);
  }
  return { paidTwice, wrong };
}

/** Among the pauses between two creates that end after the kill. */
export function longestPause(
  createsMs: readonly number[],
  killedMs: number,
  stoppedMs: number,
): { pauseMs: number; goesOnAfterMs: number } {
  const sorted = createsMs.toSorted((one, other) => one - other);
  let longest = { pauseMs: 0, goesOnAfterMs: 0 };
  for (const [at, endMs] of [...sorted, Number.POSITIVE_INFINITY].entries()) {
    const beginMs = sorted[at - 1] ?? killedMs;
    if (endMs < killedMs || beginMs > stoppedMs) continue;
    // Without a create until the end, the pause lasted at least so long.
    const pauseMs = Math.min(endMs, Math.max(stoppedMs, beginMs)) - beginMs;
    if (pauseMs > longest.pauseMs) longest = { pauseMs, goesOnAfterMs: beginMs + pauseMs - killedMs };
  }
  return longest;
}
